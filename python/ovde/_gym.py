"""Gymnasium environments as tasks of the library.

A Source holds the factory of a task's environments and the properties of an environment that it made. An Adapter
is one environment with flat observations and actions, as the library steps it. The library itself knows a task by
its name only, and asks for adapters by that name.
"""

from __future__ import annotations

import re
import struct
import warnings
from typing import Any, Callable, Optional

import numpy as np

from . import _core

__all__ = ["Source", "Adapter", "check_ours", "fold_seed", "make_adapter", "name_of", "register", "sources"]

NOT_REPEATABLE = "its episodes do not follow from the seed of reset() and the actions alone"
HORIZON = 1000  # time limit of environments that have none

EnvFactory = Callable[[], Any]  # () -> gymnasium.Env
EXAMPLE = "lambda: gymnasium.make('Pendulum-v1')"


def fold_seed(seed: int) -> int:
    """Folds a seed of 64 bits into the 31 bits that many environments take.

    >>> fold_seed(7), fold_seed(2**32 + 2), fold_seed(2**64 - 1)
    (7, 3, 0)
    """
    return (seed ^ (seed >> 32)) & 0x7FFFFFFF


class Source:
    """The factory of a task's environments, and what an environment looks like."""

    def __init__(self, factory: EnvFactory, success: Optional[str] = None):
        if not callable(factory):
            raise _core.InputError(f"{factory!r}: must be a function that makes an environment, such as {EXAMPLE}")
        self.factory = factory
        self.success = success  # key of info that tells whether the goal was reached
        self.lacks_success = False  # no info of an environment had that key yet
        self.info_keys: set[str] = set()  # keys of the infos without it
        self.failure: Optional[BaseException] = None  # the first exception of an environment
        self.lost_because: Optional[str] = None  # why a saved episode could not be restored
        self.pool: Any = None  # worker processes
        self.spread: Optional[list[float]] = None  # of the observations, once it is measured
        env = made(factory)
        try:
            other = made(factory)
            if other.unwrapped is env.unwrapped:
                raise _core.InputError(
                    "the function that makes the environment returned the same one twice: every agent needs its own, "
                    f"so make it inside the function, such as {EXAMPLE}"
                )
            try:
                self._examine(env)
                # why an episode cannot be saved; None: it can
                self.unsaved_because = _why_not_saved(self, env, other)
            finally:
                other.close()
        finally:
            env.close()
        self.lacks_success = success is not None  # after these short episodes

    def _examine(self, env: Any) -> None:
        from gymnasium import spaces

        self.spec_id = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
        self.horizon = time_limit(env)
        self.observation_space = env.observation_space
        self.action_space = env.action_space
        self.observation_size = _flat_box(spaces, env.observation_space, "observations").shape[0]
        actions = _flat_box(spaces, env.action_space, "actions")
        if not (np.isfinite(actions.low).all() and np.isfinite(actions.high).all()):
            raise _core.InputError(
                f"the actions of {self.spec_id} have no bounds ({env.action_space}): low and high must be finite; "
                "gymnasium.wrappers.TransformAction(env, function, action_space) sets others"
            )
        self.low = actions.low.astype(float).tolist()
        self.high = actions.high.astype(float).tolist()

    def warn_if_not_repeatable(self) -> None:
        if self.unsaved_because == NOT_REPEATABLE:
            warnings.warn(
                f"{self.spec_id}: {NOT_REPEATABLE}: two runs with the same seed will differ, and a resumed run cannot "
                "continue the episode that it was in",
                RuntimeWarning,
                stacklevel=3,
            )

    def __getstate__(self) -> dict:  # for worker processes
        return {**self.__dict__, "failure": None, "pool": None, "lacks_success": False}


def check_ours(task: str, instead: str) -> None:
    """Refuses a task that is not the library's, but one that Gymnasium makes."""
    if any(known["name"] == task.partition(":")[0] for known in _core.tasks()):
        return
    try:
        import gymnasium
    except ImportError:
        return
    if task in gymnasium.registry:
        raise _core.InputError(f"{task} is an environment of Gymnasium: {instead}")


def time_limit(env: Any) -> int:
    limit = env.spec.max_episode_steps if env.spec is not None else None
    return limit or getattr(env.unwrapped, "horizon", None) or HORIZON


def made(factory: EnvFactory) -> Any:
    env = factory()
    if not (hasattr(env, "action_space") and hasattr(env, "observation_space")):
        raise _core.InputError(
            f"the function that makes the environment returned {env!r}: must be a gymnasium.Env, "
            "with action_space and observation_space"
        )
    return env


def _flat_box(spaces: Any, space: Any, what: str) -> Any:
    try:
        flat = spaces.flatten_space(space)
    except NotImplementedError:
        flat = None
    if not isinstance(flat, spaces.Box) or (what == "actions" and _has_discrete(spaces, space)):
        raise _core.InputError(
            f"{what} of {space}: must be a Box, or a Dict or Tuple of them"
            + (" (discrete actions are not supported)" if what == "actions" else "")
        )
    return flat


def _has_discrete(spaces: Any, space: Any) -> bool:
    if isinstance(space, spaces.Dict):
        return any(_has_discrete(spaces, part) for part in space.spaces.values())
    if isinstance(space, spaces.Tuple):
        return any(_has_discrete(spaces, part) for part in space.spaces)
    return not isinstance(space, spaces.Box)


_EPISODE = struct.Struct("<16sQQQ")  # mark, seed, steps, bytes of actions
_MARK = b"ovde episode 1"
_STEP = ("observation", "reward", "terminated", "truncated", "info")


class SourceAdapter:
    """What the library asks of each environment of a source."""

    begin: Callable[[int], Any]  # a reset
    advance: Callable[[np.ndarray], tuple]  # a step; its last element is None where info does not tell about the goal

    def __init__(self, source: Source):
        self.source = source
        self.observation_size = source.observation_size
        self.low, self.high = source.low, source.high
        self._has_stepped = False

    def reset(self, seed: int) -> Any:
        if self._has_stepped and self.source.lacks_success:
            self.source.lacks_success = False  # one warning is enough
            keys = ", ".join(sorted(self.source.info_keys)) or "no keys"
            warnings.warn(
                f"success={self.source.success!r}: an episode has ended, and no info had this key (it had {keys}); "
                "the goal counts as not reached",
                RuntimeWarning,
            )
        self._has_stepped = False
        return self.begin(seed)

    def step(self, action: np.ndarray) -> tuple:
        *result, success = self.advance(action)
        self._has_stepped = True
        if success is not None:
            self.source.lacks_success = False
        return *result, bool(success)

    def fail(self, exception: BaseException) -> None:
        if self.source.failure is None:
            self.source.failure = exception


class Adapter(SourceAdapter):
    """One environment of a source, made at its first reset.

    A state in the middle of an episode is saved as the episode's seed and actions, and restored by playing them in a
    new environment, so that nothing has to be pickled.
    """

    def __init__(self, source: Source, env: Any = None):
        from gymnasium import spaces

        super().__init__(source)
        self._env = env
        self._spaces = spaces
        actions, observations = source.action_space, source.observation_space
        self._plain_actions = isinstance(actions, spaces.Box)
        self._plain_observations = isinstance(observations, spaces.Box)
        self._is_float32 = self._plain_actions and actions.dtype == np.float32
        self._seed, self._steps, self._actions = 0, 0, bytearray()
        self._observation: Any = None

    def to_action(self, flat: np.ndarray) -> Any:
        space = self.source.action_space
        if not self._plain_actions:
            return self._spaces.unflatten(space, flat)
        return flat.astype(np.float32).reshape(space.shape) if self._is_float32 else nearest_in(space, flat)

    def to_observation(self, observation: Any) -> Any:
        if self._plain_observations:
            return observation  # flattened when it is copied
        return self._spaces.flatten(self.source.observation_space, observation)

    def begin(self, seed: int) -> Any:
        if self._env is None:
            self._env = self.source.factory()
        observation, _ = unpacked("reset()", self._env.reset(seed=fold_seed(seed)), ("observation", "info"))
        self._seed, self._steps, self._actions = seed, 0, bytearray()
        self._observation = self.to_observation(observation)
        return self._observation

    def advance(self, action: np.ndarray) -> tuple:
        self._steps += 1
        self._actions += action.tobytes()
        observation, reward, terminated, truncated, info = unpacked("step()", self._env.step(self.to_action(action)), _STEP)
        key, success = self.source.success, None
        if key is None:
            success = False
        elif key in info:
            success = bool(info[key])
        else:
            self.source.info_keys.update(map(str, info))
        self._observation = self.to_observation(observation)
        try:
            reward = float(reward)
        except (TypeError, ValueError):
            raise TypeError(f"a reward is {reward!r}; must be a number") from None
        return self._observation, reward, bool(terminated), bool(truncated), success

    def save(self) -> Optional[bytes]:
        if self.source.unsaved_because is not None or self._env is None:
            return None
        head = _EPISODE.pack(_MARK, self._seed, self._steps, len(self._actions))
        return head + bytes(self._actions) + flat(self._observation).tobytes()

    def restore(self, state: bytes) -> bool:
        why = self._why_not_restored(state)
        if why is not None:
            self.source.lost_because = why
            self.close()
        return why is None

    def _why_not_restored(self, state: bytes) -> Optional[str]:
        if self.source.unsaved_because is not None:
            return self.source.unsaved_because
        if len(state) < _EPISODE.size or not state.startswith(_MARK):
            return "an earlier version of ovde pickled it, and pickles are not loaded"
        _, seed, steps, size = _EPISODE.unpack_from(state)
        actions = np.frombuffer(state[_EPISODE.size : _EPISODE.size + size]).reshape(steps, len(self.low))
        saved = np.frombuffer(state[_EPISODE.size + size :])
        try:
            self.reset(seed)
            for number, action in enumerate(actions, 1):
                _, _, terminated, truncated, _ = self.step(action.copy())
                if (terminated or truncated) and number < steps:
                    return "the environment has changed: the saved episode ends earlier"
        except Exception as error:
            return f"the environment has changed: {type(error).__name__}: {error}"
        if not np.array_equal(flat(self._observation), saved, equal_nan=True):
            return "the environment has changed: the saved actions lead to another observation"
        return None

    def close(self) -> None:
        if self._env is not None:
            self._env.close()
            self._env = None


def unpacked(call: str, result: Any, names: tuple[str, ...]) -> tuple:
    """The tuple that an environment returned, which must have these elements. The API of Gym before 0.26 had fewer."""
    if isinstance(result, tuple) and len(result) == len(names):
        return result
    was = f"a tuple of {len(result)}" if isinstance(result, tuple) else type(result).__name__
    raise TypeError(f"{call} returned {was}; must be ({', '.join(names)})")


def nearest_in(box: Any, flat: np.ndarray) -> np.ndarray:
    """The action of a box that is nearest to these numbers: scaling to the box may exceed its bounds by the last bit."""
    if np.issubdtype(box.dtype, np.integer):
        flat = np.rint(flat)
    return np.clip(flat.reshape(box.shape), box.low, box.high).astype(box.dtype)


def flat(observation: Any) -> np.ndarray:
    try:
        return np.asarray(observation, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise _core.InputError(f"an observation is of type {type(observation).__name__}; must be an array of numbers")


def _why_not_saved(source: Source, env: Any, other: Any) -> Optional[str]:
    """Tests whether an episode depends on its seed and actions alone: a new environment must repeat the second episode
    of another one."""
    rng = np.random.default_rng(0)
    draw = lambda: rng.uniform(source.low, source.high)  # noqa: E731
    used, fresh = Adapter(source, env), Adapter(source, other)
    try:
        used.reset(0)
        used.step(draw())
        same = np.array_equal(flat(used.reset(1)), flat(fresh.reset(1)), equal_nan=True)
        for _ in range(3):
            action = draw()
            a, b = used.step(action), fresh.step(action.copy())
            same = same and a[1:] == b[1:] and np.array_equal(flat(a[0]), flat(b[0]), equal_nan=True)
            if a[2] or a[3] or b[2] or b[3]:
                break
    except Exception as error:  # training reports it with its traceback
        return f"{type(error).__name__}: {error}"
    return None if same else NOT_REPEATABLE


sources: dict[str, Source] = {}  # by task name
_in_use: dict[str, int] = {}


def name_of(source: Source, name: Optional[str] = None) -> str:
    """The task's name: python/Pendulum-v1; with a goal, python/Pendulum-v1+goal."""
    text = re.sub(r"[^A-Za-z0-9._+/-]", "-", name or source.spec_id)
    return f"{_core.python_task}{text}{'+goal' if source.success is not None else ''}"


def register(name: str, source: Optional[Source] = None) -> None:
    """Registers the task with the library; without a source its runs can be read, but not trained."""
    horizon = source.horizon if source is not None else HORIZON
    _core.register_python_task(name, "a Python environment", horizon, 0, name.endswith("+goal"))
    if source is None:
        return
    if _in_use.get(name) and sources.get(name) is not source:
        raise _core.Error(f"{name} is already being trained with another environment; give this one a name=")
    sources[name] = source


class using:
    """Reserves the name of a task for a source."""

    def __init__(self, name: str, source: Source):
        self._name, self.source = name, source

    def __enter__(self) -> None:
        register(self._name, self.source)
        _in_use[self._name] = _in_use.get(self._name, 0) + 1
        self.source.failure = self.source.lost_because = None

    def __exit__(self, *_: Any) -> None:
        _in_use[self._name] -= 1
        if _in_use[self._name] == 0:
            del _in_use[self._name], sources[self._name]


def make_adapter(name: str) -> Any:
    source = sources.get(name)
    if source is None:
        raise _core.InputError(
            f"{name} is a Python environment, and the function that makes it is not stored: "
            "ovde.resume(folder, env_factory) continues the run, ovde.evaluate(folder, env_factory) evaluates it"
        )
    return source.pool.adapter() if source.pool is not None else Adapter(source)
