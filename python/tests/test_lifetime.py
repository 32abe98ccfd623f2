"""Nothing is leaked, and the interpreter exits cleanly."""

import gc
import resource

import numpy as np
import pytest

import ovde


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def grows_by(make, count=1000):
    for _ in range(100):
        make()
    gc.collect()
    before, objects = resident(), len(gc.get_objects())
    for _ in range(count):
        make()
    gc.collect()
    assert len(gc.get_objects()) - objects < 50
    return resident() - before


MEGABYTE = 1 << 20


def test_a_thousand_policies(trained_run):
    batch = np.zeros((64, 2))
    assert grows_by(lambda: trained_run.policy()(batch)) < 4 * MEGABYTE


def test_a_thousand_environments(gymnasium):
    def one():
        env = ovde.make("GridChaos-v0:s")
        env.reset(seed=0)
        env.step(np.zeros(2))

    assert grows_by(one) < 4 * MEGABYTE


def test_a_thousand_vector_environments(gymnasium):
    def one():
        envs = ovde.make_vec("GridChaos-v0:s", 4, threads=2)
        envs.reset(seed=0)
        envs.step(np.zeros((4, 2)))

    assert grows_by(one) < 4 * MEGABYTE


def test_a_thousand_wrapped_environments(gymnasium):
    from odd_envs import Line

    def one():
        env = ovde.wrap_noise(Line(), reward=1)
        env.reset(seed=0)
        env.step(np.zeros(1, np.float32))

    assert grows_by(one) < 4 * MEGABYTE


def test_environments_of_a_run_are_closed_and_freed(gymnasium, tmp_path, small):
    import weakref

    from odd_envs import Line

    made, closed = [], []

    class Watched(Line):
        def __init__(self):
            super().__init__()
            made.append(weakref.ref(self))

        def close(self):
            closed.append(id(self))

    ovde.train(Watched, "sac", seeds=range(3), epochs=2, out=tmp_path / "x", **small)
    gc.collect()
    assert ovde._gym.sources == {}
    assert len(made) == 2 + 2 * 3  # two that are tested, and two for each agent
    assert len(closed) >= len(made) and all(ref() is None for ref in made)


def test_fifty_short_runs_do_not_grow(gymnasium, tmp_path, small):
    from odd_envs import Line

    numbers = iter(range(1000))
    settings = {**small, "train": {**small["train"], "steps_per_epoch": 20}}

    def one():
        ovde.train(Line, "sac", epochs=1, out=tmp_path / f"{next(numbers)}", threads=1, **settings)

    for _ in range(20):
        one()
    before = resident()
    for _ in range(50):
        one()
    assert resident() - before < 8 * MEGABYTE


EXITS = {
    "with registered tasks of Python": """
ovde.train(Line, "sac", epochs=1, out="x", **SMALL)
""",
    "with environments that are still open": """
env, envs = ovde.make("GridChaos-v0:s"), ovde.make_vec("GridChaos-v0:s", 8, threads=4)
noisy = ovde.wrap_noise(Line(), action=0.1)
for one in (env, envs, noisy):
    one.reset(seed=0)
""",
    "after a failure": """
try:
    ovde.train(lambda: Line(fault=__import__("pathlib").Path("/")), "sac", epochs=50, out="x", **SMALL)
except ovde.Error as error:
    kept = error
""",
    "while a thread trains on an environment of Python": """
import threading, time
threading.Thread(target=lambda: ovde.train(Line, "sac", seeds=[0, 1], epochs=100_000, out="x", **SMALL), daemon=True).start()
time.sleep(0.5)
""",
    "while worker processes train": """
import threading, time
threading.Thread(target=lambda: ovde.train(Line, "sac", epochs=100_000, workers=2, out="x", **SMALL), daemon=True).start()
time.sleep(1.5)
""",
    "while a step of a worker process never returns": """
import threading, time
class Stuck(Line):
    def step(self, action):
        if self.total > 300:
            time.sleep(1000)
        return super().step(action)
threading.Thread(target=lambda: ovde.train(Stuck, "sac", epochs=200, workers=1, out="x", **SMALL), daemon=True).start()
time.sleep(1.5)
""",
}


@pytest.mark.parametrize("what", EXITS)
def test_the_interpreter_exits(what, gymnasium, script, small):
    import os
    from pathlib import Path

    head = f"import ovde, sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\nfrom odd_envs import Line\nSMALL = {small!r}\n"
    done = script(head + EXITS[what] + "\nprint('end')\n", timeout=30, env={**os.environ, "PYTHONFAULTHANDLER": "1"})
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr
    assert "Fatal" not in done.stderr and "terminate called" not in done.stderr


def test_numpy_is_imported_before_threads_start(gymnasium, script, small):
    """Two threads that import it at once must not deadlock."""
    from pathlib import Path

    done = script(f"""
import builtins, sys, time
import ovde
sys.path.insert(0, {str(Path(__file__).parent)!r})
from odd_envs import Line

find = builtins.__import__

def find_slowly(name, *arguments, **more):
    if name.startswith("numpy.core"):
        time.sleep(0.5)
    return find(name, *arguments, **more)

builtins.__import__ = find_slowly
ovde.train(Line, "sac", seeds=[0, 1], epochs=1, threads=2, out="x", progress=False, **{small!r})
print("end")
""", timeout=60)  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


def test_threads_and_fork(gymnasium, trained_run, script):
    """A child of fork() has no other threads, and must not wait for those of its parent."""
    result = script(f"""
import os, warnings
import numpy as np
import ovde

warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside threads
policy, envs = ovde.Policy.load({str(trained_run.folder / "seed_0")!r}), ovde.make_vec("GridChaos-v0:s", 8, threads=2)
batch = np.random.default_rng(0).normal(size=(500, 2))
actions = policy(batch, threads=2)
envs.reset(seed=0)
child = os.fork()
envs.step(np.zeros((8, 2)))
assert (policy(batch, threads=2) == actions).all()
del policy, envs
if child:
    assert os.waitpid(child, 0)[1] == 0
    print("both are done")
""")
    assert result.stdout == "both are done\n", result.stderr
