"""Tasks of the library as Gymnasium environments, and noise for any environment."""

import copy
import pickle
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import ovde

pytest.importorskip("gymnasium", reason="Gymnasium is not installed (scripts/gymnasium fetches it)")
import gymnasium as gym  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from odd_envs import Line, Parts  # noqa: E402

TASKS = [task["name"] for task in ovde.tasks() if not task["name"].startswith("python/")]


def test_disturbances_are_dicts_of_their_tables():
    plain = ovde.make("GridChaos-v0:s")
    late = ovde.make("GridChaos-v0:s", delay={"observation": 2}, history=1)
    assert late.observation_space.shape == (2 + 1 * (2 + 2),)
    seen = [env.reset(seed=3)[0] for env in (plain, late)]
    assert (seen[0] == seen[1][:2]).all()
    actions = [np.array([0.1 * i, 1]) for i in range(5)]
    plain_seen = [seen[0]] + [plain.step(a)[0] for a in actions]
    late_seen = [seen[1]] + [late.step(a)[0] for a in actions]
    for i in range(2, 6):
        assert (late_seen[i][:2] == plain_seen[i - 2]).all()
        assert (late_seen[i][4:] == actions[i - 1]).all()
    with pytest.raises(ovde.InputError, match="low <= high"):
        ovde.make("GridChaos-v0:s", delay={"action": [2, 1]})


@pytest.mark.parametrize("task", TASKS)
def test_gymnasium_accepts_every_task(task):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # what Gymnasium warns of in its own MuJoCo tasks too: no bounds of observations, other ranges of actions; and these cannot be drawn
        known = ["minimum value is -infinity", "maximum value is infinity", "not having any render", "normalized space"]
        for text in known:
            warnings.filterwarnings("ignore", f".*{text}")
        env = gym.make(f"ovde/{task}")
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.skipif("Hopper-v4" not in TASKS, reason="built without MuJoCo")
def test_a_task_file_is_a_task():
    file = Path(__file__).parents[2] / "configs/robots/balancer.toml"
    env = ovde.make(file, horizon=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(env, skip_render_check=True)
    assert env.observation_space.shape == (11,) and env.action_space.shape == (2,)
    with pytest.raises(ovde.InputError, match="no_such.toml"):
        ovde.make(str(file.with_name("no_such.toml")))


def test_presets_and_options():
    env = gym.make("ovde/GridChaos-v0", preset="s", horizon=7)
    assert env.unwrapped.task == "GridChaos-v0:s"
    env.reset(seed=0)
    ends = [env.step(env.action_space.sample())[3] for _ in range(7)]
    assert ends == [False] * 6 + [True]
    with pytest.raises(ovde.InputError, match="horizon"):
        ovde.make("GridChaos-v0", horizont=3)
    with pytest.raises(ovde.InputError, match="no preset"):
        ovde.make("GridChaos-v0:zz")


def test_gymnasium_finds_them_by_the_packages_name(script):
    done = script('import gymnasium; print(gymnasium.make("ovde:ovde/GridChaos-v0").reset(seed=0)[0])')
    assert (done.stdout, done.stderr) == ("[0. 0.]\n", "")


def rollout(env, seed, steps=300):
    rng = np.random.default_rng(seed)
    out = [env.reset(seed=seed)[0]]
    for _ in range(steps):
        action = rng.uniform(env.action_space.low, env.action_space.high)
        observation, reward, terminated, truncated, _ = env.step(action)
        out.append(np.concatenate([observation, [reward, terminated, truncated]]))
        if terminated or truncated:
            out.append(env.reset()[0])
    return out


def assert_same(a, b):
    assert len(a) == len(b)
    for x, y in zip(a, b):
        np.testing.assert_array_equal(x, y)


def test_episodes_follow_from_the_seed():
    a, b = (ovde.make("NoisyHopper-v4" if "NoisyHopper-v4" in TASKS else "GridChaos-v0:s") for _ in range(2))
    assert_same(rollout(a, 5), rollout(b, 5))
    assert any(not np.array_equal(x, y) for x, y in zip(rollout(a, 5), rollout(b, 6)))
    # without a seed two environments are not the same
    c, d = ovde.make("Hopper-v4" if "Hopper-v4" in TASKS else "GridChaos-v0:s"), ovde.make("GridChaos-v0:s")
    first = c.reset()[0]
    assert len(first) == c.observation_space.shape[0] and d.reset()[0].shape == (2,)


def test_copies_continue_like_the_original():
    env = ovde.make("GridChaos-v0:e", noise={"action": 0.1})
    env.reset(seed=1)
    for _ in range(10):
        env.step(np.array([0.2, 0.3]))
    copies = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
    for _ in range(200):
        observation, *rest = env.step(np.array([0.2, 0.3]))
        for other in copies:
            again, *same = other.step(np.array([0.2, 0.3]))
            np.testing.assert_array_equal(observation, again)
            assert rest == same
        if rest[1] or rest[2]:
            start = env.reset()[0]
            for other in copies:
                np.testing.assert_array_equal(other.reset()[0], start)


def test_a_step_before_the_first_reset_is_an_error():
    made = ovde.make("GridChaos-v0:s")
    for env in (made, pickle.loads(pickle.dumps(made)), ovde.make_vec("GridChaos-v0:s", 2)):
        with pytest.raises(ovde.Error, match="before the first reset"):
            env.step(env.action_space.sample())
        env.reset(seed=1)
        env.step(env.action_space.sample())


def test_actions_of_another_size_are_refused():
    env = ovde.make("GridChaos-v0:s")
    env.reset(seed=0)
    with pytest.raises(ovde.InputError, match="an action has 3 numbers; must be 2"):
        env.step([0, 0, 0])
    with pytest.raises(ovde.InputError, match="an action has 1 number; must be 2"):
        env.step([0])


@pytest.mark.parametrize("task", ["GridChaos-v0:s", "NoisyHopper-v4"])
@pytest.mark.parametrize("threads", [0, 1, 3])
def test_vector_steps_equal_single_steps(task, threads):
    if task.split(":")[0] not in TASKS:
        pytest.skip("built without MuJoCo")
    n, steps = 7, 250
    envs = ovde.make_vec(task, n, threads=threads, horizon=60)
    singles = [ovde.make(task, horizon=60) for _ in range(n)]
    observations, _ = envs.reset(seed=10)
    for i, env in enumerate(singles):
        np.testing.assert_array_equal(observations[i], env.reset(seed=10 + i)[0])
    rng = np.random.default_rng(0)
    ended = np.zeros(n, bool)
    resets = 0
    for _ in range(steps):
        actions = rng.uniform(envs.single_action_space.low, envs.single_action_space.high, (n, envs.single_action_space.shape[0]))
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        for i, env in enumerate(singles):
            if ended[i]:  # Gymnasium's next-step autoreset
                expected = (env.reset()[0], 0.0, False, False)
                resets += 1
            else:
                expected = env.step(actions[i])[:4]
            np.testing.assert_array_equal(observations[i], expected[0])
            assert (rewards[i], terminated[i], truncated[i]) == expected[1:]
        ended = terminated | truncated
    assert resets > n


def test_noise_is_a_table_or_a_key_of_the_task():
    def after_a_step(noise):
        env = ovde.make("GridChaos-v0:s", noise=noise)
        env.reset(seed=0)
        return env.step([0.0, 0.0])[0]

    np.testing.assert_array_equal(after_a_step([0, 0, 0, 0]), [0.1, 0])
    assert (after_a_step([0.5, 0.5, 0.5, 0.5]) != [0.1, 0]).all()
    assert (after_a_step({"observation": 0.1}) != [0.1, 0]).all()
    with pytest.raises(ovde.InputError, match="task.noise = -1"):
        ovde.make("NoiseTrap-v0", noise=-1)


def test_number_of_threads_is_checked():
    with pytest.raises(ovde.InputError, match="threads=-1: must be a whole number"):
        ovde.make_vec("GridChaos-v0:s", 2, threads=-1)


def test_vector_environment_has_gymnasiums_interface(trained_run):
    from gymnasium.vector import AutoresetMode
    from gymnasium.wrappers.vector import RecordEpisodeStatistics

    envs = ovde.make_vec("GridChaos-v0:s", 4)
    assert envs.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    wrapped = RecordEpisodeStatistics(envs)
    observations, _ = wrapped.reset(seed=0)
    assert observations in envs.observation_space
    policy = trained_run.policy()
    lengths = []
    for _ in range(250):
        observations, rewards, terminated, truncated, infos = wrapped.step(policy(observations))
        if "episode" in infos:
            lengths += infos["episode"]["l"][infos["_episode"]].tolist()
    assert lengths and max(lengths) == 100
    # some of them again
    mask = np.array([True, False, False, True])
    before = observations.copy()
    after, _ = envs.reset(seed=3, options={"reset_mask": mask})
    assert (after[1:3] == before[1:3]).all() and (after[0] == ovde.make("GridChaos-v0:s").reset(seed=3)[0]).all()
    # a view of a larger array, such as a column of flags
    before = after.copy()
    view = np.array([True, True, True, True, False, False, False, False])[::2]
    after, _ = envs.reset(seed=9, options={"reset_mask": view})
    assert (after[2:] == before[2:]).all() and (after[1] == ovde.make("GridChaos-v0:s").reset(seed=10)[0]).all()
    with pytest.raises(ovde.InputError):
        envs.reset(seed=[1, 2])
    with pytest.raises(ovde.InputError):
        envs.step(np.zeros((3, 2)))


def test_two_threads_at_once_are_refused():
    envs = ovde.make_vec("GridChaos-v0:s", 20_000, threads=2)
    envs.reset(seed=0)
    actions = np.zeros((20_000, 2))
    stop, refused = threading.Event(), []

    def step_on():
        while not stop.is_set():
            try:
                envs.step(actions)
            except ovde.Error as error:
                refused.append(str(error))

    thread = threading.Thread(target=step_on)
    thread.start()
    end = time.monotonic() + 60
    while not refused and time.monotonic() < end:
        try:
            envs.step(actions)
        except ovde.Error as error:
            refused.append(str(error))
    stop.set()
    thread.join()
    assert set(refused) == {"another thread is stepping these environments"}
    assert envs.step(actions)[0].shape == (20_000, 2)


def test_arrays_are_new_unless_copy_is_false():
    for copies in (True, False):
        envs = ovde.make_vec("GridChaos-v0:s", 4, copy=copies)
        envs.reset(seed=0)
        one = envs.step(np.zeros((4, 2)))[0]
        kept = one.copy()
        two = envs.step(np.ones((4, 2)))[0]
        assert (one is two) == (not copies)
        assert np.array_equal(one, kept) == copies


# ---- noise


@pytest.mark.parametrize("noise", [{"action": 0.3}, {"observation": 0.2}, {"reward": 1.5}, {"action": 0.1, "observation": 0.1, "reward": 0.1}])
def test_noise_equals_table_noise(noise):
    """Around a task of the library it gives, to the bit, what the library's own table noise gives."""
    task = "HalfCheetah-v4" if "HalfCheetah-v4" in TASKS else "GridChaos-v0:s"
    outside, inside = ovde.wrap_noise(ovde.make(task), **noise), ovde.make(task, noise=noise)
    np.testing.assert_array_equal(outside.reset(seed=4)[0], inside.reset(seed=4)[0])
    rng = np.random.default_rng(0)
    for _ in range(2 if "action" in noise else 50):
        action = rng.uniform(-1, 1, inside.action_space.shape).astype(np.float32)
        a, b = outside.step(action), inside.step(action)
        if "action" in noise:  # what is handed on to an environment is a 32-bit number: not to the bit
            np.testing.assert_allclose(a[0], b[0], atol=1e-4)
        else:
            np.testing.assert_array_equal(a[0], b[0])
            assert a[1:4] == b[1:4]


def test_noise_passes_gymnasiums_checks_and_keeps_the_rest():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(ovde.wrap_noise(gym.make("Pendulum-v1").unwrapped, action=0.1, reward=0.1), skip_render_check=True)
    line = ovde.wrap_noise(Line(), observation=0.5)
    plain = Line()
    noisy, _ = line.reset(seed=1)
    true, _ = plain.reset(seed=1)
    assert noisy.dtype == np.float32 and noisy.shape == (1,) and noisy[0] != true[0]
    assert "reached" in line.step(np.zeros(1, np.float32))[4]
    assert line.unwrapped.x == pytest.approx(0.9 * true[0], abs=0.3)


def test_noise_can_be_trained_on_and_resumed(tmp_path, small):
    from test_train import assert_same_run

    factory = lambda: ovde.wrap_noise(Line(), action=0.1, observation=0.05)  # noqa: E731
    whole = ovde.train(factory, "ovde_g", epochs=20, out=tmp_path / "whole", **small)

    def stop(event):
        if event["epoch"] == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ovde.train(factory, "ovde_g", epochs=20, out=tmp_path / "x", progress=stop, **small)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same_run(whole.folder, ovde.resume(tmp_path / "x", factory).folder)


def test_noise_refuses_unsupported_spaces():
    with pytest.raises(ovde.InputError, match="did you mean noise.action"):
        ovde.wrap_noise(Line(), acton=0.1)
    with pytest.raises(ovde.InputError, match="noise.action"):
        ovde.wrap_noise(Line(), action=-1)
    with pytest.raises(ovde.InputError, match="Box"):
        ovde.wrap_noise(Parts(), observation=1)
    with pytest.raises(RuntimeError, match="on fire"):  # the environment's own exceptions stay what they are

        class Burning(Line):
            def step(self, action):
                raise RuntimeError("the motor is on fire")

        env = ovde.wrap_noise(Burning(), reward=1)
        env.reset(seed=0)
        env.step(np.zeros(1, np.float32))
