"""Tasks of the library as Gymnasium environments, and noise for any environment."""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Sequence, Union

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from . import _core, _gym
from ._arguments import count
from ._run import PathLike

__all__ = ["TaskEnv", "TaskVectorEnv", "NoiseWrapper", "make", "make_vec", "wrap_noise", "register_tasks"]

Noise = Union[None, Mapping[str, Any], float, Sequence[float]]  # table noise, or a task's own key `noise`


def _task_settings(options: Mapping[str, Any], noise: Noise) -> dict[str, Any]:
    given = dict(options) if noise is None else {**options, "noise": noise}
    settings: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, Mapping):
            settings.update({f"{name}.{key}": each for key, each in value.items()})
        else:
            settings[f"task.{name}"] = value
    return settings


def _action_space(core: Any) -> spaces.Box:
    return spaces.Box(core.action_low.astype(np.float32), core.action_high.astype(np.float32), dtype=np.float32)


def _observation_space(core: Any) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (core.observation_size,), dtype=np.float64)


def _any_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**53))


_NOT_RESET = "step() before the first reset()"


class TaskEnv(gymnasium.Env):
    """A task of the library. `reset(seed=s)` determines this episode and all later ones.

    If the task has a goal, info["is_success"] tells whether it was reached.
    """

    metadata = {"render_modes": []}

    def __init__(
        self,
        task: str,
        *,
        preset: Optional[str] = None,
        noise: Noise = None,
        render_mode: Optional[str] = None,
        **options: Any,
    ):
        self.task = f"{task}:{preset}" if preset is not None else task
        self.render_mode = render_mode
        self._made_with = (task, preset, noise, options)
        self._use(_core.OneEnv(self.task, _task_settings(options, noise)))

    def _use(self, core: Any) -> None:
        self._core = core
        self.horizon: int = core.horizon
        self.action_space = _action_space(core)
        self.observation_space = _observation_space(core)
        self._has_goal = core.has_goal
        self._seeded = False

    def reset(self, *, seed: Optional[int] = None, options: Optional[dict] = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        if seed is None and not self._seeded:
            seed = _any_seed(self.np_random)
        self._seeded = True
        return self._core.reset(seed), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        if not self._seeded:
            raise _core.Error(_NOT_RESET)
        observation, reward, terminated, truncated, success = self._core.step(action)
        return observation, reward, terminated, truncated, {"is_success": success} if self._has_goal else {}

    # a copy pickled in the middle of an episode continues exactly like the original
    def __getstate__(self) -> dict:
        return {"made_with": self._made_with, "seeded": self._seeded, "state": self._core.save() if self._seeded else None}

    def __setstate__(self, saved: dict) -> None:
        task, preset, noise, options = saved["made_with"]
        self.__init__(task, preset=preset, noise=noise, **options)  # type: ignore[misc]
        self._seeded = saved["seeded"]
        if saved["state"] is not None:
            self._core.restore(saved["state"])


class RunEnv(TaskEnv):
    """The task of a run, with the noise, the disturbances and the history that it was trained with."""

    def __init__(self, path: str):
        self.render_mode = None
        self._use(_core.OneEnv.of_run(path))


class TaskVectorEnv(VectorEnv):
    """A vector environment of one task, stepped by C++ threads.

    Next-step autoreset, as in Gymnasium's own vector environments: the step after the end of an episode resets,
    ignores its action and has reward 0. After reset(seed=s), environment i gives the same episodes as `make(...)`
    after reset(seed=s + i). With `copy=False`, every step returns the same arrays.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}

    def __init__(
        self,
        task: str,
        num_envs: int,
        *,
        threads: int = 0,
        copy: bool = True,
        preset: Optional[str] = None,
        noise: Noise = None,
        **options: Any,
    ):
        self.task = f"{task}:{preset}" if preset is not None else task
        self.num_envs = num_envs
        self.render_mode = None
        self._core = _core.ManyEnvs(self.task, _task_settings(options, noise), num_envs, count("threads", threads), copy)
        self.threads: int = self._core.threads
        self.single_action_space = _action_space(self._core)
        self.single_observation_space = _observation_space(self._core)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._all = np.ones(num_envs, dtype=bool)
        self._seeded = False

    def reset(
        self, *, seed: Union[None, int, Sequence[Optional[int]]] = None, options: Optional[dict] = None
    ) -> tuple[np.ndarray, dict]:
        mask = np.ascontiguousarray((options or {}).get("reset_mask", self._all), dtype=bool)
        super().reset(seed=seed if isinstance(seed, int) else None)
        seeds: list[int] = []
        if isinstance(seed, (int, np.integer)):
            seeds = [int(seed) + i for i in range(self.num_envs)]
        elif seed is not None:
            seeds = [_any_seed(self.np_random) if s is None else int(s) for s in seed]
        elif not self._seeded:
            seeds = [_any_seed(self.np_random) for _ in range(self.num_envs)]
        if mask.shape != (self.num_envs,) or (seeds and len(seeds) != self.num_envs):
            raise _core.InputError(f"{self.num_envs} environments need as many seeds and elements of the mask")
        self._seeded = True
        return self._core.reset(seeds, mask), {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict]:
        if not self._seeded:
            raise _core.Error(_NOT_RESET)
        return self._core.step(actions)


class NoiseWrapper(gymnasium.Wrapper, RecordConstructorArgs):
    """Noise around any environment with Box actions: see `wrap_noise`."""

    def __init__(self, env: gymnasium.Env, **noise: Any):
        RecordConstructorArgs.__init__(self, **noise)
        gymnasium.Wrapper.__init__(self, env)
        actions = env.action_space
        if not isinstance(actions, spaces.Box):
            raise _core.InputError(f"noise is for environments with Box actions, not {actions}")
        if noise.get("action") and not (np.isfinite(actions.low).all() and np.isfinite(actions.high).all()):
            raise _core.InputError("noise on actions is relative to their range, and these have no bounds")
        if noise.get("observation") and not isinstance(env.observation_space, spaces.Box):
            raise _core.InputError("noise on observations is for Box observations")
        self._noise = noise
        self._adapter = _Passing(env)
        self._core = _core.OneEnv.with_noise(self._adapter, {f"noise.{key}": value for key, value in noise.items()})
        self._seeded = False

    def _observation(self, flat: np.ndarray) -> Any:
        if not self._noise.get("observation"):
            return self._adapter.observation  # the environment's own object
        space: Any = self.env.observation_space
        return flat.reshape(space.shape).astype(space.dtype)

    def _call(self, call: Any, *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except _core.Error as error:
            if self._adapter.failure is None:
                raise
            failure, self._adapter.failure = self._adapter.failure, None
            raise failure from error

    def reset(self, *, seed: Optional[int] = None, options: Optional[dict] = None) -> tuple[Any, dict]:
        self._adapter.seed, self._adapter.options = seed, options
        if seed is None and not self._seeded:
            seed = _any_seed(np.random.default_rng())
        self._seeded = True
        observation = self._call(self._core.reset, seed)
        return self._observation(observation), self._adapter.info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        flat = spaces.flatten(self.env.action_space, np.asarray(action))
        observation, reward, terminated, truncated, _ = self._call(self._core.step, flat)
        return self._observation(observation), reward, terminated, truncated, self._adapter.info

    def __getstate__(self) -> dict:
        return {"env": self.env, "noise": self._noise, "state": self._core.save() if self._seeded else None}

    def __setstate__(self, saved: dict) -> None:
        self.__init__(saved["env"], **saved["noise"])  # type: ignore[misc]
        if saved["state"] is not None:
            self._core.restore(saved["state"])
            self._seeded = True


class _Passing:
    """The adapter that the noise wraps: steps the environment and keeps its observation and info."""

    def __init__(self, env: gymnasium.Env):
        self._env = env
        self.observation: Any = None
        self.info: dict = {}
        self.seed: Optional[int] = None
        self.options: Optional[dict] = None
        self.failure: Optional[BaseException] = None
        observations: Any = env.observation_space
        actions: Any = env.action_space
        self._plain = isinstance(observations, spaces.Box)
        self.observation_size = int(np.prod(observations.shape)) if self._plain else 0
        self.low, self.high = (bound.ravel().astype(float).tolist() for bound in (actions.low, actions.high))

    def _flat(self, observation: Any) -> Any:
        self.observation = observation
        return observation if self._plain else ()

    def reset(self, _: int) -> Any:
        observation, self.info = self._env.reset(seed=self.seed, options=self.options)
        return self._flat(observation)

    def step(self, action: np.ndarray) -> tuple:
        space: Any = self._env.action_space
        result = self._env.step(action.astype(space.dtype).reshape(space.shape))
        observation, reward, terminated, truncated, self.info = result
        return self._flat(observation), float(reward), bool(terminated), bool(truncated), False

    # the environment is pickled by NoiseWrapper
    def save(self) -> bytes:
        return b"-"

    def restore(self, _: bytes) -> bool:
        return True

    def fail(self, exception: BaseException) -> None:
        self.failure = exception

    def close(self) -> None:
        pass  # the wrapper closes the environment


def make(task: PathLike, **options: Any) -> TaskEnv:
    """Makes a Gymnasium environment of a task of the library.

    Options are keys of the task (docs/config.md, table task) and `noise`: a dict is the table noise, numbers are
    the task's own key of that name. Disturbances are dicts too: delay={"action": 2} (docs/disturbances.md). Actions are in the task's own units, and observations are 64-bit.

    >>> import ovde
    >>> env = ovde.make("GridChaos-v0:s", horizon=250, noise={"action": 0.1})
    >>> observation, info = env.reset(seed=3)
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    >>> reward, terminated, truncated, info
    (0.0, False, False, {'is_success': False})
    """
    name = os.fspath(task)
    _gym.check_ours(name, f"gymnasium.make({name!r})")
    return TaskEnv(name, **options)


def make_vec(task: PathLike, num_envs: int, *, threads: int = 0, copy: bool = True, **options: Any) -> TaskVectorEnv:
    """Makes a vector environment of a task, stepped by C++ threads (0: chosen automatically).

    >>> import ovde
    >>> envs = ovde.make_vec("GridChaos-v0:s", 64)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
    >>> observations.shape, rewards.shape
    ((64, 2), (64,))
    """
    name = os.fspath(task)
    _gym.check_ours(name, f"gymnasium.make_vec({name!r}, {num_envs!r})")
    return TaskVectorEnv(name, num_envs, threads=threads, copy=copy, **options)


def wrap_noise(env: gymnasium.Env, *, action: float = 0, observation: float = 0, reward: float = 0, **noise: Any) -> NoiseWrapper:
    """Adds normal noise to the actions, observations and rewards of any Gymnasium environment.

    The numbers are standard deviations; for actions in units of half their range, and clipped to the box. Each
    kind has its own random stream, seeded by `reset`: switching one on changes neither the environment nor the
    other kinds (docs/tasks.md). Further keyword arguments are keys of table noise (docs/config.md).

    >>> import gymnasium, ovde
    >>> env = ovde.wrap_noise(gymnasium.make("Pendulum-v1"), observation=0.1, reward=0.5)
    >>> observation, info = env.reset(seed=0)
    >>> observation.shape
    (3,)
    """
    return NoiseWrapper(env, action=action, observation=observation, reward=reward, **noise)


def register_tasks() -> None:
    """Registers every task of the library with Gymnasium: gymnasium.make("ovde/NoisyAnt-v4")."""
    for task in _core.tasks():
        identifier = f"ovde/{task['name']}"
        if task["name"].startswith(_core.python_task) or identifier in gymnasium.registry:
            continue
        # without max_episode_steps: the task has its own time limit, which an option may change
        gymnasium.register(identifier, entry_point="ovde.envs:TaskEnv", kwargs={"task": task["name"]})
