"""Evaluation of a trained policy."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np

from . import _core, _gym
from ._arguments import count
from ._run import PathLike, Run


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


def evaluate(
    policy: Union[Run, _core.Policy, PathLike], env: Union[str, Any] = None, episodes: int = 10, *, seed: int = 0
) -> Evaluation:
    """Plays episodes with a trained policy, without exploration.

    `policy` is a Run (its first seed), a Policy, or the path of either. `env` is a Gymnasium environment, a function
    that makes one, or the name of a task of the library; without it, the run's own task is played, with the noise,
    the disturbances and the history that the run was trained with. Episode i is reset with seed + i. An environment
    without a time limit ends after 1000 steps.

    >>> import ovde
    >>> run = getfixture("trained_run")
    >>> ovde.evaluate(run, episodes=3).returns.shape
    (3,)
    """
    episodes = count("episodes", episodes, 1)
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
    elif isinstance(env, str):
        env = made = make(env)
    elif callable(env):
        env = made = env()

    observations, actions = env.observation_space, env.action_space
    limit = _gym.time_limit(env)
    returns, lengths = np.zeros(episodes), np.zeros(episodes, int)
    try:
        size = spaces.flatdim(observations)
        if size != policy.observation_size:
            raise _core.InputError(
                f"the policy takes {policy.observation_size} numbers, and the environment gives {size}; a run's own task, "
                "with its history, is played without env: ovde.evaluate(run)"
            )
        for i in range(episodes):
            observation, _ = env.reset(seed=seed + i)
            ended = False
            while not ended:
                flat = policy(spaces.flatten(observations, observation))
                if isinstance(actions, spaces.Box):
                    action = np.clip(flat.reshape(actions.shape), actions.low, actions.high).astype(actions.dtype)
                else:
                    action = spaces.unflatten(actions, flat)
                observation, reward, terminated, truncated, _ = env.step(action)
                returns[i] += float(reward)
                lengths[i] += 1
                ended = bool(terminated or truncated) or lengths[i] >= limit
    finally:
        if made is not None:
            made.close()
    return Evaluation(returns, lengths)
