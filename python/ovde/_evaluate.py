"""Evaluation of a trained policy."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np

from . import _core, _gym
from ._arguments import count, seed_list
from ._run import PathLike, Run, run_folder


@dataclass(frozen=True)
class Evaluation:
    """The episodes of `evaluate`, in order."""

    returns: np.ndarray
    lengths: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.returns.mean())

    @property
    def std(self) -> float:
        """Standard deviation of the returns; NaN for one episode."""
        return float(self.returns.std(ddof=1)) if len(self.returns) > 1 else float("nan")

    def __str__(self) -> str:
        episodes = len(self.returns)
        return f"return {self.mean:.2f} (std {self.std:.2f}, {episodes} episode{'s' if episodes > 1 else ''})"


def _history(path: Optional[PathLike]) -> Optional[int]:
    """task.history of the run in this folder, or of this policy file; None if there is no run."""
    file = run_folder(path) / "config.toml" if path is not None else None
    return int(_core.raw_settings(str(file)).get("task.history", 0)) if file is not None and file.is_file() else None


def _at_rest(box: Any) -> np.ndarray:
    return (box.low.astype(float) + box.high) / 2


def evaluate(
    policy: Union[Run, _core.Policy, PathLike], env: Union[str, Any] = None, episodes: int = 10, *, seed: int = 0
) -> Evaluation:
    """Plays episodes with a trained policy, without exploration.

    `policy` is a Run (its first seed), a Policy, or the path of either. `env` is a Gymnasium environment, a function
    that makes one, or the name of a task of the library. It is played as it is, with the run's history (task.history).
    Without `env`, the run's own task is played, with the noise, the disturbances and the history that the run was
    trained with. Episode i is reset with seed + i. An environment without a time limit ends after 1000 steps.

    >>> import ovde
    >>> run = getfixture("trained_run")
    >>> ovde.evaluate(run, episodes=3).returns.shape
    (3,)
    """
    episodes = count("episodes", episodes, 1)
    seed = seed_list(seed)[0]
    path: Optional[PathLike] = None
    if isinstance(policy, Run):
        path, policy = policy.folders[0], policy.policy()
    elif isinstance(policy, (str, os.PathLike)):
        path, policy = policy, _core.Policy.load(policy)
    try:
        from gymnasium import spaces

        from .envs import RunEnv, make
    except ImportError as missing:
        raise ImportError(f"ovde.evaluate needs Gymnasium: {missing}") from missing
    made: Optional[Any] = None
    if env is None:
        if path is None:
            raise _core.InputError("a policy without its run has no task: ovde.evaluate(policy, env)")
        env = made = RunEnv(os.fspath(path))
    elif isinstance(env, (str, os.PathLike)):
        env = made = make(env)
    elif callable(env):
        env = made = _gym.made(env)

    observations, actions = env.observation_space, env.action_space
    limit = _gym.time_limit(env)
    returns, lengths = np.zeros(episodes), np.zeros(episodes, int)
    try:
        size = spaces.flatdim(observations)
        # an environment of ovde.make may have the history already
        of_run = None if size == policy.observation_size else _history(path)
        history = of_run or 0
        at_rest = _at_rest(spaces.flatten_space(actions)) if history else np.zeros(0)
        if size + history * (size + len(at_rest)) != policy.observation_size:
            message = f"the policy takes {policy.observation_size} numbers, and the environment gives {size}"
            if of_run is None and size < policy.observation_size:
                message += "; to play with a run's history (task.history), give the run: ovde.evaluate(run, env)"
            raise _core.InputError(message)
        for i in range(episodes):
            observation, _ = env.reset(seed=seed + i)
            # the newest first; before the start, the first observation and the action at rest
            seen = deque([spaces.flatten(observations, observation)] * (history + 1), maxlen=history + 1)
            taken = deque([at_rest] * history, maxlen=history)
            ended = False
            while not ended:
                flat = policy(np.concatenate([*seen, *taken]))
                if isinstance(actions, spaces.Box):
                    action = _gym.nearest_in(actions, flat)
                else:
                    action = spaces.unflatten(actions, flat)
                observation, reward, terminated, truncated, _ = env.step(action)
                seen.appendleft(spaces.flatten(observations, observation))
                taken.appendleft(flat)
                returns[i] += float(reward)
                lengths[i] += 1
                ended = bool(terminated or truncated) or lengths[i] >= limit
    finally:
        if made is not None:
            made.close()
    return Evaluation(returns, lengths)
