"""A script of a Gymnasium user, from import to report; and the example."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SCRIPT = """
import gymnasium as gym
import numpy as np
import ovde

small = dict(network={"hidden": [16]}, train={"batch": 32, "warmup_steps": 200, "eval_steps": 200})
run = ovde.train(lambda: gym.make("Pendulum-v1"), "ovde_g", seeds=range(4), epochs=3, out="runs/x", explore={"alpha": 0.1},
                 progress=False, **small)
print(run.curves["eval_return_mean"].shape)

policy = ovde.Policy.load("runs/x/seed_0")
env = gym.make("Pendulum-v1")
obs, info = env.reset(seed=0)
total = 0.0
for _ in range(200):
    obs, reward, terminated, truncated, info = env.step(policy(obs))
    total += reward
print(total < 0, policy(np.stack([obs] * 5)).shape)

env = ovde.make("NoisyAnt-v4" if any(t["name"] == "NoisyAnt-v4" for t in ovde.tasks()) else "GridChaos-v0", horizon=250)
print(env.reset(seed=1)[0].dtype, gym.make("ovde/GridChaos-v0").reset(seed=1)[0])

venv = ovde.make_vec("GridChaos-v0:s", 64)
venv.reset(seed=0)
print(venv.step(venv.action_space.sample())[0].shape)

theirs = np.random.default_rng(0).normal(-1200, 50, (4, 3))
print(ovde.compare({"sb3": theirs, "ovde": run}).to_html("report.html"))
"""


def test_from_import_to_report(script, gymnasium, tmp_path):
    done = script(SCRIPT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["(4, 3)", "True (5, 1)", "float64 [0. 0.]", "(64, 2)", "report.html"]
    assert "ovde" in (tmp_path / "report.html").read_text()


def test_the_example_writes_a_plot(gymnasium, tmp_path):
    if not shutil.which("gnuplot"):
        pytest.skip("gnuplot is not installed")
    command = [sys.executable, str(ROOT / "examples/python/pendulum.py"), "--quick", str(tmp_path / "x")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    picture = tmp_path / "x/report/figures/curves.svg"
    assert str(picture) in done.stdout and "<svg" in picture.read_text()


def test_the_example_explains_its_options(gymnasium):
    command = [sys.executable, str(ROOT / "examples/python/pendulum.py"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "--quick" in done.stdout and "usage:" in done.stdout, done.stderr
