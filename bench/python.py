"""What Python costs, beside the same work without it, in one run of about a minute:

    python3 bench/python.py [PROGRAM] [--only policy training workers envs] [--turns N]

PROGRAM is build/ovde, and the package is the one beside it. Everything is measured in turns, so that whatever else the machine
does slows both sides alike; figures are medians, ratios those within a turn.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program", nargs="?", type=Path, default=Path(__file__).parents[1] / "build/ovde")
parser.add_argument("--only", nargs="+", choices=["policy", "training", "workers", "envs"])
parser.add_argument("--turns", type=int, default=5)
options = parser.parse_args()
program, turns = options.program.resolve(), options.turns
# in front of what is installed; Gymnasium behind it, as scripts/gymnasium leaves it
sys.path.insert(0, str(program.parent / "python"))
sys.path.append(str(Path(__file__).parents[1] / ".cache/gymnasium/usr/lib/python3/dist-packages"))
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # of worker processes

import gymnasium  # noqa: E402
import numpy as np  # noqa: E402

import ovde  # noqa: E402

folder = Path(tempfile.mkdtemp())
cores = len(os.sched_getaffinity(0))


def seconds(call, at_least=0.05):
    """Of one call, by as many as take long enough."""
    count = 1
    while True:
        began = time.perf_counter()
        for _ in range(count):
            call()
        spent = time.perf_counter() - began
        if spent >= at_least:
            return spent / count
        count = max(2 * count, int(1.2 * count * at_least / max(spent, 1e-9)))


def in_turns(*calls, turns=turns):
    """The medians of each, and of the ratios of the first to each. Another one begins each time."""
    table = []
    for turn in range(turns):
        order = [(turn + i) % len(calls) for i in range(len(calls))]
        times = {i: calls[i]() for i in order}
        table.append([times[i] for i in range(len(calls))])
    columns = list(zip(*table))
    ratios = [statistics.median(row[0] / row[i] for row in table) for i in range(len(calls))]
    return [statistics.median(column) for column in columns], ratios


def policy_costs():
    for hidden in ([256, 256], [64, 64], [32, 32]):
        run = ovde.train("HalfCheetah-v4", "dsac", epochs=1, out=folder / f"policy{hidden[0]}", progress=False,
                         network={"hidden": hidden}, train={"steps_per_epoch": 200, "warmup_steps": 300, "eval_steps": 1000})  # fmt: skip
        policy = run.policy()
        one = np.random.default_rng(0).normal(size=17)
        many = np.random.default_rng(0).normal(size=(1000, 17))
        (single, alone, side), (_, ratio, ratio_side) = in_turns(
            lambda: seconds(lambda: policy(one)),
            lambda: seconds(lambda: policy(many, threads=1)) / 1000,
            lambda: seconds(lambda: policy(many)) / 1000,
        )
        print(f"policy {hidden}: one {single * 1e6:.2f} us; of 1000 {alone * 1e6:.3f} us ({ratio:.1f} times the rate), "
              f"on {cores} threads {side * 1e6:.3f} us ({ratio_side:.1f} times)", flush=True)  # fmt: skip


def bench_env(task):
    """Steps a second by numbers of threads."""
    text = subprocess.run([program, "bench", "env", "--task", task, "--threads", str(cores), "--json"],
                          check=True, capture_output=True, text=True).stdout  # fmt: skip
    return {row["threads"]: row["per_second"] for row in map(json.loads, text.splitlines())}


def vector_rate(task, count, threads):
    """As bench env does it: the median of stretches of 5 ms, so that one that lost its core to another program does not count."""
    envs = ovde.make_vec(task, count, threads=threads, copy=False)
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    actions = [rng.uniform(envs.action_space.low, envs.action_space.high).astype(float) for _ in range(16)]
    turn = iter(range(1 << 60))
    step = lambda: envs.step(actions[next(turn) % 16])
    calls = max(1, int(0.005 / seconds(step, at_least=0.02)))
    stretches = []
    for _ in range(100):
        began = time.perf_counter()
        for _ in range(calls):
            step()
        stretches.append(time.perf_counter() - began)
    return count * calls / statistics.median(stretches)


def vector_costs():
    # a MuJoCo environment takes 8 MB
    for task, counts in (("GridChaos-v0", (64, 1024)), ("HalfCheetah-v4", (16, 64))):
        kinds = [(threads, count) for threads in sorted({1, cores}) for count in counts]
        turn = lambda: (bench_env(task), {kind: vector_rate(task, kind[1], kind[0]) for kind in kinds})
        rows = [turn() for _ in range(max(1, turns // 2))]
        for threads, count in kinds:
            plain = statistics.median(bare[threads] for bare, _ in rows)
            rate = statistics.median(rates[threads, count] for _, rates in rows)
            ratio = statistics.median(rates[threads, count] / bare[threads] for bare, rates in rows)
            print(f"make_vec {task}, {count} on {threads} threads: {rate:,.0f} steps/s, bench env {plain:,.0f}; {ratio:.2f}", flush=True)


def training_costs():
    """On one thread, in seconds of the processor: what else runs on the machine counts least. The command-line program is
    called as a function, so that starting a process is no part of it."""
    settings = {"epochs": 1, "steps_per_epoch": 50, "eval_steps": 1000, "warmup_steps": 300}
    numbers = iter(range(1 << 30))

    def spent(work):
        began = time.process_time()
        work(str(folder / f"train{next(numbers)}"))
        return time.process_time() - began

    def command(out):
        words = ["ovde", "train", "--task", "HalfCheetah-v4", "--algo", "ovde_g", "--threads", "1", "--out", out]
        for key, value in settings.items():
            words += ["--set", f"train.{key}={value}"]
        ovde._core.run_command(words)

    def python(out):
        ovde.train("HalfCheetah-v4", "ovde_g", out=out, threads=1, progress=lambda event: None, train=settings)

    stdout = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the program prints
    (by_command, by_python), (_, ratio) = in_turns(lambda: spent(command), lambda: spent(python), turns=3 * turns)
    os.dup2(stdout, 1)
    print(f"training HalfCheetah-v4: command line {by_command:.2f} s of one core, Python {by_python:.2f} s; "
          f"rate of Python {ratio:.3f}", flush=True)  # fmt: skip


def worker_costs():
    numbers = iter(range(1 << 30))

    def trained(workers, factory):
        def run():
            began = time.perf_counter()
            ovde.train(factory, "sac", seeds=range(4), epochs=3, out=folder / f"work{next(numbers)}", threads=cores,
                       workers=workers, progress=False, network={"hidden": [32, 32]},
                       train={"batch": 32, "steps_per_epoch": 100, "warmup_steps": 100, "eval_steps": 200})  # fmt: skip
            return time.perf_counter() - began

        return run

    class Slow(gymnasium.Wrapper):
        """A step that computes in Python for another millisecond."""

        def step(self, action):
            end = time.thread_time() + 1e-3
            while time.thread_time() < end:
                pass
            return self.env.step(action)

    for name, factory in (("Pendulum-v1", lambda: gymnasium.make("Pendulum-v1")), ("Pendulum-v1 and 1 ms", lambda: Slow(gymnasium.make("Pendulum-v1")))):
        (here, there), (_, ratio) = in_turns(trained(0, factory), trained(cores, factory), turns=max(1, turns // 2))
        print(f"4 agents on {name}: one lock {here:.2f} s, {cores} worker processes {there:.2f} s; {ratio:.2f} times the rate", flush=True)


print(f"{cores} cores, Python {sys.version.split()[0]}, NumPy {np.__version__}, Gymnasium {gymnasium.__version__}")
costs = {"policy": policy_costs, "training": training_costs, "workers": worker_costs, "envs": vector_costs}
for name, measure in costs.items():
    if not options.only or name in options.only:
        measure()
