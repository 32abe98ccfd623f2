"""Training on Python environments."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest

import ovde
from test_train import assert_same_run, rows

pytest.importorskip("gymnasium", reason="Gymnasium is not installed (scripts/gymnasium fetches it)")
import gymnasium as gym  # noqa: E402
from gymnasium import spaces  # noqa: E402
from odd_envs import Forgetful, Heavy, Line, Parts, Restless, Rooted  # noqa: E402


def test_pendulum_by_its_id(tmp_path, small):
    run = ovde.train(lambda: gym.make("Pendulum-v1"), "ovde_g", seeds=range(2), epochs=3, out=tmp_path / "x",
                     explore={"alpha": 0.1}, **small)  # fmt: skip
    assert run.task == "python/Pendulum-v1" and run.curves["eval_return_mean"].shape == (2, 3)
    policy = run.policy(1)
    assert (policy.observation_size, policy.action_size) == (3, 1)
    assert abs(policy([1.0, 0.0, 0.0])[0]) <= 2
    assert "horizon = 200" in (run.folder / "population.toml").read_text()


def test_learns(tmp_path):
    run = ovde.train(Line, "dsac", epochs=25, out=tmp_path / "x", network={"hidden": [32, 32]},
                     train={"batch": 64, "steps_per_epoch": 100, "warmup_steps": 300, "eval_steps": 400,
                            "learning_rate": 2e-3, "temperature": 0.02})  # fmt: skip
    returns = run.curves["eval_return_mean"][0]
    # without actions an episode returns -2
    assert returns[-3:].mean() > -1


def test_evaluated_for_a_tenth_of_the_steps(tmp_path):
    run = ovde.train(Line, "sac", epochs=12, out=tmp_path / "x", network={"hidden": [8]},
                     train={"batch": 8, "warmup_steps": 20})  # fmt: skip
    evaluated = np.flatnonzero(~np.isnan(run.curves["eval_return_mean"][0]))
    assert list(evaluated) == [9, 11]  # every tenth epoch and the last


def test_every_reset_has_a_folded_seed(tmp_path, small):
    seeds = []
    ovde.train(lambda: Line(log=seeds), "sac", epochs=2, out=tmp_path / "x", **small)
    given = seeds[3:]  # the first ones test whether an episode can be saved
    # at the end, the policies of both epochs play the same five episodes, to choose the best
    given, again = given[:-5], given[-5:]
    assert len(given) > 9 and len(set(given)) == len(given) and again == given[-5:]
    assert all(0 <= seed < 2**31 for seed in given)
    assert ovde.fold_seed(2**63 + 5) == (5 ^ 2**31) & 0x7FFFFFFF


def test_terminated_and_truncated_are_told_apart(tmp_path, small):
    """Targets bootstrap after truncation only: the critics of two runs that differ in this alone differ."""

    class Ends(Line):
        def step(self, action):
            observation, reward, terminated, truncated, info = super().step(action)
            return observation, reward, terminated or truncated, False, info

    cut = ovde.train(Line, "sac", epochs=3, out=tmp_path / "cut", name="Cut", **small)
    ended = ovde.train(Ends, "sac", epochs=3, out=tmp_path / "ended", name="Ended", **small)
    np.testing.assert_array_equal(cut.curves["eval_length_mean"][:, 0], ended.curves["eval_length_mean"][:, 0])
    assert not np.array_equal(cut.curves["critic_loss"], ended.curves["critic_loss"])


def test_dict_and_tuple_are_flattened(tmp_path, small):
    run = ovde.train(Parts, "sac", epochs=2, out=tmp_path / "x", **small)
    assert (run.policy().observation_size, run.policy().action_size) == (1 + 4 + 3, 3)


@pytest.mark.parametrize("workers", [0, 1])
def test_goal(tmp_path, small, workers):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = ovde.train(Line, "sac", epochs=2, out=tmp_path / "x", success="reached", workers=workers, **small)
    assert run.task == "python/Line+goal"
    assert (run.curves["eval_success"] > 0).any()
    without = ovde.train(Line, "sac", epochs=2, out=tmp_path / "y", **small)
    assert np.isnan(without.curves["eval_success"]).all()


def test_resume_says_whether_to_pass_success(tmp_path, small):
    ovde.train(Line, "sac", epochs=1, out=tmp_path / "goal", success="reached", **small)
    with pytest.raises(ovde.InputError, match="was trained with success=: pass success=KEY"):
        ovde.resume(tmp_path / "goal", Line, epochs=2)
    ovde.train(Line, "sac", epochs=1, out=tmp_path / "none", **small)
    with pytest.raises(ovde.InputError, match="was trained without success=: leave it out"):
        ovde.resume(tmp_path / "none", Line, success="reached", epochs=2)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_goal_that_no_info_tells_is_a_warning(tmp_path, small, workers):
    with pytest.warns(RuntimeWarning, match=r"success='reach': .* had this key \(it had reached\)") as warned:
        ovde.train(Line, "sac", epochs=1, out=tmp_path / "x", success="reach", workers=workers, **small)
    assert len(warned) == 1


@pytest.mark.parametrize("workers", [0, 2])
def test_an_exception_keeps_its_traceback_and_the_checkpoint(tmp_path, small, workers):
    settings = {**small, "checkpoint": {"epochs": 1}}
    fault = tmp_path / "fault"
    fault.touch()
    factory = lambda: Line(fault)  # noqa: E731
    with pytest.raises(ovde.Error, match="the motor is on fire.*seed 0") as caught:
        ovde.train(factory, "sac", epochs=20, out=tmp_path / "x", workers=workers, **settings)
    cause = caught.value.__cause__
    assert isinstance(cause, RuntimeError) and str(cause) == "the motor is on fire"
    text = "".join(traceback.format_exception(caught.value))
    assert "odd_envs.py" in text and 'raise RuntimeError("the motor is on fire")' in text
    [state] = ovde.status(tmp_path / "x")
    assert state["state"] == "failed" and "on fire" in state["message"]
    fault.unlink()
    assert ovde.resume(tmp_path / "x", factory, workers=workers).finished


def interrupted(factory, folder, small, **more):
    class Enough(Exception):
        pass

    def progress(event):
        if event["epoch"] >= 3:
            raise Enough

    with pytest.raises(Enough):
        ovde.train(factory, "ovde_g", epochs=12, out=folder, progress=progress, name="Line", **small, **more)
    assert len(rows(folder)) < 12


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("factory", [Line, Forgetful, Rooted, lambda: gym.make("Pendulum-v1")])
def test_resume_is_bit_exact(tmp_path, small, factory, workers, monkeypatch):
    whole = ovde.train(factory, "ovde_g", epochs=12, out=tmp_path / "whole", name="Line", **small)
    interrupted(factory, tmp_path / "x", small, workers=workers)
    with pytest.raises(ovde.InputError, match="env_factory"):
        ovde.resume(tmp_path / "x")
    if workers == 0:  # the worker processes get the factory by pickle
        monkeypatch.setattr(pickle, "loads", refuse_to_unpickle)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = ovde.resume(tmp_path / "x", factory, workers=workers)
    assert run.finished
    assert_same_run(whole.folder, run.folder)


def test_the_program_names_what_continues_the_run(tmp_path, small, program):
    interrupted(Line, tmp_path / "x", small)
    said = subprocess.run([program, "eval", str(tmp_path / "x")], capture_output=True, text=True)
    assert said.returncode == 2
    assert f'in Python, ovde.resume("{tmp_path / "x"}", env_factory) continues it\n' in said.stderr


def refuse_to_unpickle(*_):
    raise AssertionError("unpickled")


def failed_in_an_episode(factory, folder, small):
    """A checkpoint after an epoch is in the middle of an episode; a run that is stopped may be between two."""
    fault = folder.parent / "fault"
    fault.touch()
    with pytest.raises(ovde.Error, match="the motor is on fire"):
        ovde.train(lambda: factory(fault), "ovde_g", epochs=30, out=folder, name="Line", checkpoint={"epochs": 1}, **small)
    fault.unlink()


@pytest.mark.parametrize("workers", [0, 2])
def test_episodes_that_do_not_follow_from_their_seed_are_a_warning(tmp_path, small, workers):
    with pytest.warns(RuntimeWarning, match="Restless: .* two runs with the same seed will differ") as warned:
        ovde.train(Restless, "sac", seeds=[0, 1], epochs=1, out=tmp_path / "x", workers=workers, **small)
    assert len(warned) == 1


def test_resume_says_why_an_episode_is_lost(tmp_path, small):
    with pytest.warns(RuntimeWarning, match="do not follow from the seed"):
        failed_in_an_episode(Restless, tmp_path / "x", small)
    with pytest.warns(RuntimeWarning, match="do not follow from the seed"):
        assert ovde.resume(tmp_path / "x", Restless).finished


@pytest.mark.parametrize("workers", [0, 1])
def test_resume_uses_the_environment_that_is_given(tmp_path, small, workers):
    failed_in_an_episode(Line, tmp_path / "x", small)
    with pytest.warns(RuntimeWarning, match="the environment has changed: the saved actions lead to another"):
        assert ovde.resume(tmp_path / "x", Heavy, workers=workers).finished


def test_resume_makes_no_environment_of_the_old_class(tmp_path, small):
    class Old(Line):
        steps_of_all = 0

        def step(self, action):
            Old.steps_of_all += 1
            return super().step(action)

    failed_in_an_episode(Old, tmp_path / "x", small)
    before = Old.steps_of_all
    assert ovde.resume(tmp_path / "x", Line).finished
    assert Old.steps_of_all == before


@pytest.mark.parametrize("state", [b"", b"\x80\x04K\x01.", b"ovde episode 1"])
def test_states_of_other_versions_are_not_loaded(state, monkeypatch):
    monkeypatch.setattr(pickle, "loads", refuse_to_unpickle)
    source = ovde._gym.Source(Line)
    assert not ovde._gym.Adapter(source).restore(state)
    assert "pickles are not loaded" in source.lost_because


def test_resume_trains_for_longer(tmp_path, small):
    ovde.train(Line, "sac", epochs=2, out=tmp_path / "x", **small)
    assert ovde.resume(tmp_path / "x", Line, epochs=4).curves["epoch"].tolist() == [[0, 1, 2, 3]]
    assert ovde.resume(tmp_path / "x", Line, steps=60 + 6 * 50).epochs == 6
    with pytest.raises(ovde.InputError, match="steps and epochs: give one of them"):
        ovde.resume(tmp_path / "x", Line, epochs=7, steps=1000)
    with pytest.raises(ovde.InputError, match="epochs=0: must be a whole number, at least 1"):
        ovde.resume(tmp_path / "x", Line, epochs=0)


def test_one_shared_environment_is_refused(tmp_path, small):
    env = Line()
    for factory in (lambda: env, lambda: gym.wrappers.TimeLimit(env, 10)):
        with pytest.raises(ovde.InputError, match="returned the same one twice.*make it inside the function"):
            ovde.train(factory, "sac", epochs=1, out=tmp_path / "x", **small)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("kind", ["dict", "generator"])
def test_observations_that_are_no_arrays_are_refused(tmp_path, small, kind, workers):
    class Wrong(Line):
        def observe(self):
            return {"x": 1.0} if kind == "dict" else (i for i in range(1))

    with pytest.raises(ovde.Error, match=f"an observation is of type {kind}; must be an array") as caught:
        ovde.train(Wrong, "sac", epochs=1, out=tmp_path / "x", workers=workers, **small)
    assert "pybind11" not in str(caught.value)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize(
    "method, result, words",
    [
        ("reset", np.zeros(1), r"reset\(\) returned ndarray; must be \(observation, info\)"),
        ("step", (np.zeros(1), 0.0, False, {}), r"step\(\) returned a tuple of 4; must be \(observation, reward, term"),
        ("step", None, r"step\(\) returned NoneType; must be \(observation"),
        ("step", (np.zeros(1), None, False, False, {}), "a reward is None; must be a number"),
    ],
)
def test_returned_values_of_another_kind_are_named(tmp_path, small, method, result, words, workers):
    wrong = type("Wrong", (Line,), {method: lambda self, *args, **keywords: result})
    with pytest.raises(ovde.Error, match=words) as caught:
        ovde.train(wrong, "sac", epochs=1, out=tmp_path / "x", workers=workers, **small)
    assert isinstance(caught.value.__cause__, TypeError)


def test_a_report_has_no_command_that_cannot_make_the_environment(tmp_path, small):
    page = ovde.train(Line, "sac", epochs=1, out=tmp_path / "x", **small).report().read_text()
    assert "network.hidden = [16]" in page and "ovde train" not in page


def test_actions_of_whole_numbers_are_the_nearest(tmp_path, small):
    class Levels(Line):
        def __init__(self):
            super().__init__()
            self.action_space = spaces.Box(0, 3, (1,), np.int64)

        def step(self, action):
            levels.append(int(action[0]))
            return super().step(action)

    levels = []
    ovde.train(Levels, "sac", epochs=1, out=tmp_path / "x", **small)
    assert set(levels) == {0, 1, 2, 3}


def test_evaluate(tmp_path, small):
    run = ovde.train(Line, "sac", epochs=2, out=tmp_path / "x", **small)
    result = ovde.evaluate(run, Line(), 4, seed=3)
    assert result.returns.shape == (4,) and result.lengths.tolist() == [40] * 4
    env, policy, total = Line(), run.policy(), 0.0
    observation, _ = env.reset(seed=4)
    for _ in range(40):
        observation, reward, *_ = env.step(policy(observation).astype(np.float32))
        total += reward
    assert result.returns[1] == pytest.approx(total, abs=1e-12)
    assert result.mean == pytest.approx(result.returns.mean()) and result.std > 0
    assert ovde.evaluate(run.policy(), Line, 4, seed=3).returns.tolist() == result.returns.tolist()
    assert ovde.evaluate(tmp_path / "x", Line, 1).lengths.tolist() == [40]
    with pytest.raises(ovde.InputError, match="seed -1: must be a whole number from 0"):
        ovde.evaluate(run, seed=-1)
    with pytest.raises(ovde.InputError, match="episodes=0: must be a whole number, at least 1"):
        ovde.evaluate(run, Line, 0)
    with pytest.raises(ovde.InputError, match="returned None: must be a gymnasium.Env"):
        ovde.evaluate(run, lambda: None)
    parts = ovde.train(Parts, "sac", epochs=1, out=tmp_path / "parts", **small)
    assert ovde.evaluate(parts, Parts, 2).lengths.tolist() == [40, 40]


@pytest.mark.parametrize("task", ["GridChaos-v0:s", "Hopper-v4"])
def test_evaluates_on_the_runs_own_environment(tmp_path, small, task):
    options = {"horizon": 150, "history": 2}
    tables = {"delay": {"action": [1, 3]}, "sensor": {"noise": 0.3}, "noise": {"reward": 0.5}}
    if task not in (known["name"] for known in ovde.tasks()) and ":" not in task:
        pytest.skip("this build has no MuJoCo")
    run = ovde.train(task, "sac", seeds=range(2), epochs=1, out=tmp_path / "x", task=options, **tables, **small)
    own = ovde.evaluate(run, episodes=3, seed=5)
    given = ovde.evaluate(run, ovde.make(task, **options, **tables), 3, seed=5)
    assert own.returns.tolist() == given.returns.tolist() and own.lengths.tolist() == given.lengths.tolist()
    for path in (run.folder / "seed_0", run.folder / "seed_0" / "policy.safetensors"):
        assert ovde.evaluate(path, episodes=3, seed=5).returns.tolist() == own.returns.tolist()
    with pytest.raises(ovde.InputError, match="a policy without its run has no task"):
        ovde.evaluate(run.policy())
    assert ovde.evaluate(run, task, 1).returns.shape == (1,)
    with pytest.raises(ovde.InputError, match=r"the policy takes \d+ numbers, and the environment gives \d+; to play with a"):
        ovde.evaluate(run.policy(), task)
    with pytest.raises(ovde.InputError, match=r"the policy takes \d+ numbers, and the environment gives \d+$"):
        ovde.evaluate(run, Line)


def test_evaluates_a_given_environment_with_the_runs_history(tmp_path, small):
    run = ovde.train(Line, "sac", epochs=1, out=tmp_path / "x", task={"history": 2}, **small)
    result = ovde.evaluate(run, Line, 3, seed=5)
    assert ovde.evaluate(tmp_path / "x" / "policy.safetensors", Line, 3, seed=5).returns.tolist() == result.returns.tolist()

    env, policy, total = Line(), run.policy(), 0.0
    observation, _ = env.reset(seed=6)
    seen, taken = [observation] * 3, [np.zeros(env.action_space.shape)] * 2
    for _ in range(result.lengths.astype(int)[1]):
        action = policy(np.concatenate(seen + taken)).astype(np.float32)
        observation, reward, *_ = env.step(action)
        seen, taken, total = [observation] + seen[:2], [action] + taken[:1], total + reward
    assert result.returns[1] == pytest.approx(total, abs=1e-6)


def test_a_history_in_python_is_that_of_training(tmp_path, small):
    run = ovde.train("GridChaos-v0:s", "sac", epochs=1, out=tmp_path / "x", task={"history": 2, "horizon": 150}, **small)
    own = ovde.evaluate(run, episodes=3, seed=5)
    given = ovde.evaluate(run, ovde.make("GridChaos-v0:s", horizon=150), 3, seed=5)
    assert given.returns.tolist() == own.returns.tolist() and given.lengths.tolist() == own.lengths.tolist()


def test_evaluate_needs_a_python_environment(tmp_path, small):
    run = ovde.train(Line, "sac", epochs=1, out=tmp_path / "x", **small)
    for given in (run, tmp_path / "x"):
        with pytest.raises(ovde.InputError, match=r"python/Line is a Python environment: give it, as in evaluate\(run, env"):
            ovde.evaluate(given)


def test_another_environment_of_the_same_name_has_its_own_spread(tmp_path, small):
    class Wide(Line):
        def __init__(self):
            super().__init__()
            self.observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)

        def observe(self):
            return np.array([100 * self.x, 0, 1], np.float32)

    def train(env, name, out):
        run = ovde.train(env, "sac", epochs=1, out=tmp_path / out, name=name, sensor={"noise": 0.1}, **small)
        return run.curves["eval_return_mean"].tolist()

    alone = train(Line, "alone", "alone")
    train(Wide, "shared", "wide")
    assert train(Line, "shared", "line") == alone
    train(Wide, "shared", "wide_again")


def test_worker_processes_change_nothing(tmp_path, small):
    more = {"seeds": range(4), "epochs": 4, "sensor": {"noise": 0.1}, **small}
    here = ovde.train(Line, "dsac", out=tmp_path / "here", **more)
    there = ovde.train(Line, "dsac", out=tmp_path / "there", workers=2, **more)
    for a, b in zip(here.folders, there.folders):
        assert_same_run(a, b)


def test_a_script_with_workers_needs_no_main_guard(script):
    done = script("""
import gymnasium, ovde
class Short(gymnasium.Wrapper):
    pass
run = ovde.train(lambda: Short(gymnasium.make("Pendulum-v1")), "sac", epochs=2, out="x", workers=2,
                 network={"hidden": [8]}, train={"batch": 8, "warmup_steps": 20, "steps_per_epoch": 20, "eval_steps": 200},
                 progress=False)
print(run.finished)
""")
    assert (done.stdout, done.stderr, done.returncode) == ("True\n", "", 0)


def test_a_worker_that_dies_is_reported(tmp_path, small):
    class Deadly(Line):
        def step(self, action):
            self.total += 1
            if self.total > 200:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().step(action)

    with pytest.raises(ovde.Error, match="worker process of the environment has ended"):
        ovde.train(Deadly, "sac", epochs=30, out=tmp_path / "x", workers=1, **small)


HANGS = {
    "in Python code": "while True: pass",
    "in a system call": "time.sleep(1000)",
}


@pytest.mark.parametrize("workers, where", [(0, "in Python code"), (2, "in Python code"), (2, "in a system call")])
def test_a_second_ctrl_c_ends_a_step_that_never_returns(tmp_path, small, workers, where):
    text = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
import ovde
from odd_envs import Line
class Stuck(Line):
    def step(self, action):
        self.total += 1
        if self.total >= 700:  # in the second epoch
            print("stuck", flush=True)
            {HANGS[where]}
        return super().step(action)
try:
    ovde.train(Stuck, "sac", epochs=6, out="x", workers={workers}, name="Line", progress=False, success="reached",
               checkpoint={{"epochs": 1}}, **{small!r})
except KeyboardInterrupt:
    print("KeyboardInterrupt")
"""
    (tmp_path / "script.py").write_text(text)
    process = subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert process.stdout.readline() == "stuck\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == "ovde: saving after this step; a second Ctrl-C ends it at once\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert (process.returncode, out) == (0, "KeyboardInterrupt\n"), err
    assert err.endswith("ovde: ended at once; its last checkpoint is kept: ovde.resume('x', env_factory, success='reached')\n")

    # the run continues from its last checkpoint
    assert list((tmp_path / "x/checkpoints").glob("checkpoint-*"))
    assert ovde.resume(tmp_path / "x", Line, success="reached", workers=workers).finished


def test_workers_have_the_arguments_of_the_program(tmp_path, small):
    arguments = list(sys.argv)

    class Asking(Line):
        def reset(self, **keywords):
            assert sys.argv == arguments
            return super().reset(**keywords)

    ovde.train(Asking, "sac", epochs=1, out=tmp_path / "x", workers=1, **small)


@pytest.mark.parametrize("workers", [0, 2])
def test_an_environment_that_calls_exit_is_reported(tmp_path, small, workers):
    class Leaving(Line):
        def step(self, action):
            self.total += 1
            if self.total > 200:
                sys.exit(3)
            return super().step(action)

    with pytest.raises(ovde.Error, match="SystemExit: 3"):
        ovde.train(Leaving, "sac", seeds=[0, 1], epochs=30, out=tmp_path / "x", workers=workers, **small)


@pytest.mark.parametrize(
    "space, words",
    [(spaces.Discrete(3), "discrete actions are not supported"), (spaces.Box(-np.inf, np.inf, (2,)), "no bounds")],
)
def test_unsupported_action_spaces_are_refused(tmp_path, space, words):
    class Wrong(Line):
        def __init__(self):
            super().__init__()
            self.action_space = space

    with pytest.raises(ovde.InputError, match=words):
        ovde.train(Wrong, "sac", epochs=1, out=tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_bounds_can_be_set_as_the_message_says(tmp_path, small):
    class Unbounded(Line):
        def __init__(self):
            super().__init__()
            self.action_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)

    with pytest.raises(ovde.InputError, match=r"TransformAction\(env, function, action_space\)"):
        ovde.train(Unbounded, "sac", epochs=1, out=tmp_path / "x", **small)
    box = spaces.Box(-1, 1, (1,), np.float32)
    factory = lambda: gym.wrappers.TransformAction(Unbounded(), lambda action: action, box)  # noqa: E731
    assert ovde.train(factory, "sac", epochs=1, out=tmp_path / "x", **small).finished


class Spaceless(gym.Env):
    action_space = spaces.Box(-1, 1, (1,))


@pytest.mark.parametrize(
    "factory, words",
    [
        (lambda: None, "returned None: must be a gymnasium.Env"),
        (lambda: 3, "returned 3: must be a gymnasium.Env"),
        (Spaceless, "Spaceless.*with action_space and observation_space"),
        (Line(), "Line object .*: must be a function that makes an environment"),
    ],
)
def test_invalid_factories_are_refused(tmp_path, small, factory, words):
    with pytest.raises(ovde.InputError, match=words):
        ovde.train(factory, "sac", epochs=1, out=tmp_path / "x", **small)
    assert not (tmp_path / "x").exists()
    ovde.train(Line, "sac", epochs=1, out=tmp_path / "x", **small)
    with pytest.raises(ovde.InputError, match=words):
        ovde.resume(tmp_path / "x", factory)


@pytest.mark.parametrize("workers", [-1, 1.5, True])
def test_number_of_workers_is_checked(tmp_path, small, workers):
    with pytest.raises(ovde.InputError, match=f"workers={workers}: must be a whole number"):
        ovde.train(Line, "sac", epochs=1, out=tmp_path / "x", workers=workers, **small)


def test_a_factory_that_cannot_be_pickled_frees_its_name(tmp_path, small):
    lock = threading.Lock()
    with pytest.raises(TypeError, match="pickle"):
        ovde.train(lambda: Line(log=None if lock else []), "sac", epochs=1, out=tmp_path / "x", workers=1, **small)
    assert ovde.train(Line, "sac", epochs=1, out=tmp_path / "x", **small).finished


def test_horizon(tmp_path, small):
    run = ovde.train(Line, "sac", epochs=1, out=tmp_path / "x", task={"horizon": 15}, **small)
    np.testing.assert_array_equal(run.curves["eval_length_mean"], 15)


def test_the_program_reads_runs_of_python_environments(tmp_path, small):
    ovde.train(Line, "sac", epochs=1, out=tmp_path / "x", **small)

    def program(*words):
        return subprocess.run([sys.executable, "-m", "ovde", *words], cwd=tmp_path, capture_output=True, text=True)

    for words in (["status", "x"], ["report", "x"], ["export", "x"], ["verify", "x/policy.c"]):
        done = program(*words)
        assert (done.returncode, done.stderr) == (0, ""), words
    for words in (["eval", "x"], ["train", "--resume", "x", "--epochs", "2"]):
        done = program(*words)
        assert done.returncode != 0 and "ovde.resume(folder, env_factory)" in done.stderr
        assert "ovde.evaluate(folder, env_factory)" in done.stderr


def test_a_run_can_be_read_without_its_environment(tmp_path, small, script):
    ovde.train(Line, "sac", epochs=2, out=tmp_path / "x", name="Unknown", **small)
    done = script("""
import ovde
run = ovde.Run("x")
print(run.task, run.curves["updates"].tolist(), run.report().name, ovde.status("x")[0]["state"])
""")
    assert done.stderr == ""
    assert done.stdout == "python/Unknown [[50.0, 100.0]] report.html finished\n"


def test_two_factories_under_one_name_do_not_train_at_once(tmp_path, small):
    def second(event):
        ovde.train(Line, "sac", epochs=1, out=tmp_path / "y", **small)

    with pytest.raises(ovde.Error, match="name="):
        ovde.train(lambda: Line(), "sac", epochs=2, out=tmp_path / "x", progress=second, **small)
