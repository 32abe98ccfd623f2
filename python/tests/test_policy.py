import numpy as np
import pytest

import ovde


def test_one_observation_and_many(trained_run):
    policy = ovde.Policy.load(trained_run.folder / "seed_1")
    assert (policy.observation_size, policy.action_size) == (2, 2)
    batch = np.random.default_rng(0).normal(size=(1000, 2))
    actions = policy(batch)
    assert actions.shape == (1000, 2) and actions.dtype == np.float64
    singles = np.array([policy(row) for row in batch])
    np.testing.assert_allclose(actions, singles, atol=1e-6)
    np.testing.assert_array_equal(actions, policy(batch, threads=2))
    np.testing.assert_array_equal(policy(batch.reshape(10, 100, 2)), actions.reshape(10, 100, 2))


def test_takes_array_likes(trained_run):
    policy = trained_run.policy(0)
    expected = policy(np.array([0.5, -0.25]))
    for same in ([0.5, -0.25], (0.5, -0.25), np.array([0.5, -0.25], np.float32), np.array([[0.5, -0.25]])[0, :]):
        np.testing.assert_array_equal(policy(same), expected)
    strided = np.zeros((4, 6))
    strided[:, ::3] = [0.5, -0.25]
    np.testing.assert_allclose(policy(strided[:, ::3]), [expected] * 4, atol=1e-6)
    assert policy(np.zeros((0, 2))).shape == (0, 2)


def test_file_and_folder_are_the_same(trained_run):
    by_folder = ovde.Policy.load(str(trained_run.folder / "seed_0"))
    by_file = ovde.Policy.load(str(trained_run.folder / "seed_0" / "policy.safetensors"))
    np.testing.assert_array_equal(by_folder([1, 2]), by_file([1, 2]))


@pytest.mark.parametrize("wrong", ["abc", [[1.0], [1.0, 2.0]]])
def test_what_is_no_array_of_numbers_is_refused(trained_run, wrong):
    with pytest.raises(ovde.InputError, match=f"observations are of type {type(wrong).__name__}; must be an array"):
        trained_run.policy()(wrong)


@pytest.mark.parametrize("wrong", [[1.0], [1.0, 2.0, 3.0], np.zeros((2, 3)), 1.0])
def test_another_shape_is_refused(trained_run, wrong):
    with pytest.raises(ovde.InputError, match="last dimension of the observations must be 2"):
        trained_run.policy()(wrong)


def test_a_seed_that_the_run_does_not_have_is_refused(trained_run):
    with pytest.raises(ovde.InputError, match=r"seed 9: the run has the seeds \[0, 1\]"):
        trained_run.policy(seed=9)


def test_invalid_policy_files_are_refused(tmp_path):
    (tmp_path / "x").write_bytes(b"nothing of the kind")
    with pytest.raises(ovde.InputError):
        ovde.Policy.load(tmp_path / "x")
    with pytest.raises(ValueError):  # an InputError is one
        ovde.Policy.load(tmp_path)
