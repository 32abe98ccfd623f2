"""From a Gymnasium environment to a plot: does noise-aware exploration help where sensors are noisy?

    scripts/setup && cmake --build build
    PYTHONPATH=build/python:.cache/gymnasium/usr/lib/python3/dist-packages python3 examples/python/pendulum.py

Written in cells for notebooks and editors. Takes three minutes on two cores; with --quick seconds, but the numbers
then mean nothing.
"""

# %% the environment: Gymnasium's pendulum, with noise on observations and rewards
import argparse

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("out", nargs="?", default="runs/pendulum", help="folder of the results (default: %(default)s)")
parser.add_argument("--quick", action="store_true", help="a few epochs of small networks")
arguments = parser.parse_args()
quick, out = arguments.quick, arguments.out

import gymnasium  # noqa: E402  (--help needs none of these)
import numpy  # noqa: E402

import ovde  # noqa: E402


def pendulum():
    return ovde.wrap_noise(gymnasium.make("Pendulum-v1"), observation=0.05, reward=0.5)


# %% two algorithms, four seeds each, on all cores
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

# %% which difference is significant, and a plot
result = ovde.compare(runs, title="A pendulum with noisy sensors")
print(result)
page = result.report(f"{out}/report")
print(f"the curves: {page.parent}/figures/curves.svg; the whole report: {page}")
