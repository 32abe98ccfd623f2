"""Gymnasium environments as tasks of the library.

A Source is where the environments of one task come from: a factory, and what an environment made by
it looks like. An Adapter is one environment, with flat observations and actions, as the library
steps it. Sources are found by the name of their task; the library itself holds names only.
"""

from __future__ import annotations

import pickle
import re
from typing import Any, Callable, Optional

import numpy as np

from . import _core

__all__ = ["Source", "Adapter", "fold_seed", "make_adapter", "name_of", "register", "sources"]

HORIZON = 1000  # steps after which an episode is cut off, where the environment says nothing of a time limit

EnvFactory = Callable[[], Any]  # () -> gymnasium.Env
EXAMPLE = "lambda: gymnasium.make('Pendulum-v1')"


def fold_seed(seed: int) -> int:
    """The library's seeds have 64 bits; many environments take 31.

    >>> fold_seed(7), fold_seed(2**32 + 2), fold_seed(2**64 - 1)
    (7, 3, 0)
    """
    return (seed ^ (seed >> 32)) & 0x7FFFFFFF


def _pickler() -> Any:
    """cloudpickle, which comes with Gymnasium and knows lambdas; else the standard library's."""
    try:
        import cloudpickle
    except ImportError:
        return pickle
    return cloudpickle


class Source:
    """Where the environments of a task come from."""

    def __init__(self, factory: EnvFactory, success: Optional[str] = None):
        if not callable(factory):
            raise _core.InputError(f"{factory!r}: must be a function that makes an environment, such as {EXAMPLE}")
        from gymnasium import spaces

        self.factory = factory
        self.success = success  # key of the step's info that says that the goal was reached
        self.failure: Optional[BaseException] = None  # the first exception of an environment
        self.pool: Any = None  # worker processes, where there are some
        env = factory()
        if not (hasattr(env, "action_space") and hasattr(env, "observation_space")):
            raise _core.InputError(
                f"the function that makes the environment returned {env!r}: must be a gymnasium.Env, "
                "with action_space and observation_space"
            )
        try:
            self.spec_id = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
            limit = env.spec.max_episode_steps if env.spec is not None else None
            self.horizon: int = limit or getattr(env.unwrapped, "horizon", None) or HORIZON
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
            # why an episode cannot be saved in its middle; None: it can
            self.unsaved_because = _why_not_saved(self, env)
        finally:
            env.close()

    def __getstate__(self) -> dict:  # for worker processes: what concerns this process alone stays here
        return {**self.__dict__, "failure": None, "pool": None}


def _flat_box(spaces: Any, space: Any, what: str) -> Any:
    try:
        flat = spaces.flatten_space(space)
    except NotImplementedError:
        flat = None
    if not isinstance(flat, spaces.Box) or (what == "actions" and _has_discrete(spaces, space)):
        raise _core.InputError(
            f"{what} of {space}: must be a Box, or a Dict or Tuple of them"
            + (" (discrete actions are not learnt here)" if what == "actions" else "")
        )
    return flat


def _has_discrete(spaces: Any, space: Any) -> bool:
    if isinstance(space, spaces.Dict):
        return any(_has_discrete(spaces, part) for part in space.spaces.values())
    if isinstance(space, spaces.Tuple):
        return any(_has_discrete(spaces, part) for part in space.spaces)
    return not isinstance(space, spaces.Box)


class Adapter:
    """One environment of a source. It is made when it is first reset: whoever asks for sizes only pays
    nothing."""

    def __init__(self, source: Source, env: Any = None):
        from gymnasium import spaces

        self._source = source
        self._env = env
        self._spaces = spaces
        self.observation_size = source.observation_size
        self.low, self.high = source.low, source.high
        actions, observations = source.action_space, source.observation_space
        self._plain_actions = isinstance(actions, spaces.Box)
        self._plain_observations = isinstance(observations, spaces.Box)
        self._clips = self._plain_actions and actions.dtype == np.float64

    def to_action(self, flat: np.ndarray) -> Any:
        space = self._source.action_space
        if not self._plain_actions:
            return self._spaces.unflatten(space, flat)
        # in 64 bits the scaling to the box may miss its edge by the last one
        action = np.clip(flat, self.low, self.high) if self._clips else flat.astype(space.dtype)
        return action.reshape(space.shape)

    def to_observation(self, observation: Any) -> Any:
        if self._plain_observations:
            return observation  # flattened where it is copied
        return self._spaces.flatten(self._source.observation_space, observation)

    def reset(self, seed: int) -> Any:
        if self._env is None:
            self._env = self._source.factory()
        observation, _ = self._env.reset(seed=fold_seed(seed))
        return self.to_observation(observation)

    def step(self, action: np.ndarray) -> tuple:
        observation, reward, terminated, truncated, info = self._env.step(self.to_action(action))
        key = self._source.success
        success = bool(info.get(key, False)) if key is not None else False
        return self.to_observation(observation), float(reward), bool(terminated), bool(truncated), success

    def save(self) -> Optional[bytes]:
        if self._source.unsaved_because is not None or self._env is None:
            return None
        return _pickler().dumps(self._env)

    def restore(self, state: bytes) -> bool:
        if self._source.unsaved_because is not None:
            return False
        self.close()
        self._env = pickle.loads(state)
        return True

    def fail(self, exception: BaseException) -> None:
        if self._source.failure is None:
            self._source.failure = exception

    def close(self) -> None:
        if self._env is not None:
            self._env.close()
            self._env = None


def _why_not_saved(source: Source, env: Any) -> Optional[str]:
    """Tries it: a copy made in the middle of an episode must go on as the original does. Pickling alone
    says little; what derives from EzPickle comes back as it was built, not as it was."""
    adapter = Adapter(source, env)
    rng = np.random.default_rng(0)
    draw = lambda: rng.uniform(source.low, source.high)  # noqa: E731
    try:
        adapter.reset(0)
        if any(adapter.step(draw())[2:4]):
            adapter.reset(1)
        state = _pickler().dumps(env)
        copy = Adapter(source, pickle.loads(state))
    except Exception as error:  # whatever an environment's parts raise when they are pickled
        return f"it cannot be pickled ({type(error).__name__}: {error})"
    try:
        for _ in range(3):
            action = draw()
            result = adapter.step(action)
            if not _same(result, copy.step(action.copy())):
                return "a pickled copy goes on differently"
            if result[2] or result[3]:
                break
    except Exception as error:
        return f"a pickled copy cannot go on ({type(error).__name__}: {error})"
    finally:
        copy.close()
    return None


def _same(a: tuple, b: tuple) -> bool:
    return a[1:] == b[1:] and np.array_equal(np.asarray(a[0]), np.asarray(b[0]))


sources: dict[str, Source] = {}  # by the name of their task
_in_use: dict[str, int] = {}


def name_of(source: Source, name: Optional[str] = None) -> str:
    """The task's name: python/Pendulum-v1; with a goal, python/Pendulum-v1+goal."""
    text = re.sub(r"[^A-Za-z0-9._+/-]", "-", name or source.spec_id)
    return f"python/{text}{'+goal' if source.success is not None else ''}"


def register(name: str, source: Optional[Source] = None) -> None:
    """Makes the task known to the library; without a source it is one whose runs can be read, not trained."""
    horizon = source.horizon if source is not None else HORIZON
    _core.register_python_task(name, "an environment of Python", horizon, 0, name.endswith("+goal"))
    if source is None:
        return
    if _in_use.get(name) and sources.get(name) is not source:
        raise _core.Error(f"{name} is being trained already, by another environment factory; give this one a name=")
    sources[name] = source


class using:
    """While a source is in use, its name is not given to another; afterwards nothing holds it."""

    def __init__(self, name: str, source: Source):
        self._name, self._source = name, source

    def __enter__(self) -> None:
        register(self._name, self._source)
        _in_use[self._name] = _in_use.get(self._name, 0) + 1
        self._source.failure = None

    def __exit__(self, *_: Any) -> None:
        _in_use[self._name] -= 1
        if _in_use[self._name] == 0:
            del _in_use[self._name], sources[self._name]


def make_adapter(name: str) -> Any:
    source = sources.get(name)
    if source is None:
        raise _core.InputError(
            f"{name} is an environment of Python, made by a function that is not stored: "
            "ovde.resume(folder, env_factory) continues the run; "
            "to evaluate it, step the environment with ovde.Policy.load(folder)"
        )
    return source.pool.adapter() if source.pool is not None else Adapter(source)
