"""From a Gymnasium environment to a picture: does noise-aware exploration help where sensors are noisy?

    scripts/setup && cmake --build build
    PYTHONPATH=build/python:.cache/gymnasium/usr/lib/python3/dist-packages python3 examples/python/pendulum.py

Written in cells, as notebooks and editors know them. Three minutes on two cores; `--quick` shows the way in
seconds, with numbers that mean nothing.
"""

# %% the environment: Gymnasium's pendulum, with the library's noise on what the agent sees
import sys

import gymnasium
import numpy

import ovde

quick = "--quick" in sys.argv
out = next((word for word in sys.argv[1:] if not word.startswith("-")), "runs/pendulum")


def pendulum():
    return ovde.wrap_noise(gymnasium.make("Pendulum-v1"), observation=0.05, reward=0.5)


# %% two algorithms, four seeds each; both run on all cores
sizes = {"network": {"hidden": [32, 32]}, "train": {"batch": 64}} if quick else {"network": {"hidden": [64, 64]}}
runs = {}
for algorithm in ("sac", "ovde_g"):
    runs[algorithm] = ovde.train(
        pendulum, algorithm, seeds=range(2 if quick else 4), epochs=3 if quick else 40, out=f"{out}/{algorithm}", **sizes
    )
    print(algorithm, runs[algorithm].scores.round(1))

# %% a trained policy is a function: one observation, or many
policy = runs["ovde_g"].policy(seed=0)
angles = numpy.linspace(-numpy.pi, numpy.pi, 9)
states = numpy.stack([numpy.cos(angles), numpy.sin(angles), numpy.zeros_like(angles)], axis=1)
print("torque at rest, by angle:", policy(states)[:, 0].round(2))

# %% which difference is real, and the picture of it
result = ovde.compare(runs, title="A pendulum with noisy sensors")
print(result)
page = result.report(f"{out}/report")
print(f"the curves: {page.parent}/figures/curves.svg; the whole report: {page}")
