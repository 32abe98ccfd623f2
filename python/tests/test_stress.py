"""Stress tests of trained policies."""

import numpy as np
import pytest

import ovde


def test_stress_has_the_numbers_of_its_files(tmp_path, trained_run):
    seen = []
    test = ovde.stress(
        trained_run, disturb=["noise.action=1", "noise.observation=0.5"], severities=[0.5, 1], episodes=3,
        out=tmp_path / "out", progress=seen.append,
    )  # fmt: skip
    assert test.policies == ["dsac"] and test.disturbances == ["noise.action", "noise.observation"]
    np.testing.assert_array_equal(test.severities, [0, 0.5, 1])
    assert seen[-1] == {"done": 33, "of": 33}  # random actions, and two runs at five points
    profile = test.profile("noise.action")
    assert profile["return"].shape == (3,)
    assert profile["return"][0] == test.profile("noise.observation", "dsac")["return"][0]
    np.testing.assert_array_less(profile["worst_decile"], profile["return"] + 1e-9)
    assert test.page.is_file() and (test.folder / "episodes.csv").is_file()
    assert str(test).startswith("dsac on GridChaos-v0:s: 2 runs, 3 episodes of each")

    again = []
    ovde.stress(trained_run, disturb="noise.action=1", severities=[0.5, 1], episodes=3, out=tmp_path / "out", progress=again.append)
    assert again == [{"done": 21, "of": 21}]  # nothing was played


def test_stress_refuses_bad_input(tmp_path, trained_run):
    with pytest.raises(ovde.InputError, match="unknown disturbance 'winds'"):
        ovde.stress(trained_run, disturb="winds", out=tmp_path / "out")
    with pytest.raises(ovde.InputError, match="must be one of: dsac"):
        ovde.stress(trained_run, disturb="noise.action=1", against="sac", out=tmp_path / "out")
    with pytest.raises(ovde.InputError, match="env_factory is for runs on one Python environment"):
        ovde.stress(trained_run, lambda: None, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_stress_of_a_python_environment(tmp_path, small, gymnasium):
    make = lambda: gymnasium.make("Pendulum-v1", max_episode_steps=20)  # noqa: E731
    run = ovde.train(make, "dsac", epochs=1, out=tmp_path / "run", progress=False, record={"networks": [0]}, **small)
    with pytest.raises(ovde.InputError, match=r"stress\(runs, env_factory\)"):
        ovde.stress(run, out=tmp_path / "out")
    test = ovde.stress(run, make, disturb="noise.action=2", severities=[1], episodes=2, out=tmp_path / "out")
    assert np.isfinite(test.profile("noise.action")["return"]).all()
    (networks,) = (tmp_path / "run").glob("networks/*.safetensors")
    ovde.stress(networks, make, disturb="noise.action=2", severities=[1], episodes=2, out=tmp_path / "networks")
