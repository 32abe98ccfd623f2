"""Gymnasium environments for the tests, each with one peculiarity."""

import threading

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import EzPickle


class Line(gymnasium.Env):
    """A point on a line, drawn to 0; terminates beyond 2, is truncated after 40 steps."""

    horizon = 40

    def __init__(self, fault=None, log=None):
        self.observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
        self.action_space = spaces.Box(-1, 1, (1,), np.float32)
        self.fault, self.log, self.total = fault, log, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.steps = self.np_random.uniform(-1, 1), 0
        if self.log is not None:
            self.log.append(seed)
        return self.observe(), {}

    def observe(self):
        return np.array([self.x], np.float32)

    def step(self, action):
        assert self.action_space.contains(action), action
        self.total += 1
        if self.fault is not None and self.total >= 300 and self.fault.exists():
            raise RuntimeError("the motor is on fire")
        self.steps += 1
        self.x = 0.9 * self.x + 0.3 * float(action[0]) + 0.05 * self.np_random.normal()
        info = {"reached": abs(self.x) < 0.1}
        return self.observe(), -self.x**2, abs(self.x) > 2, self.steps >= 40, info


class Forgetful(Line, EzPickle):
    """Pickles its arguments, not its state."""

    def __init__(self, fault=None):
        Line.__init__(self, fault)
        EzPickle.__init__(self, fault)


class Rooted(Line):
    """Cannot be pickled at all."""

    def __init__(self, fault=None):
        super().__init__(fault)
        self.lock = threading.Lock()


class Restless(Line):
    """Its episodes do not follow from their seeds."""

    episodes = 0

    def reset(self, *, seed=None, options=None):
        Restless.episodes += 1
        return super().reset(seed=seed + Restless.episodes)


class Heavy(Line):
    """Another dynamics than Line."""

    def step(self, action):
        return super().step(0.5 * action)


class Parts(Line):
    """Observations in a Dict with a Tuple and a matrix, actions in a Dict."""

    def __init__(self):
        super().__init__()
        self.observation_space = spaces.Dict(
            {"x": spaces.Box(-9, 9, (1,)), "more": spaces.Tuple([spaces.Box(0, 1, (2, 2)), spaces.Discrete(3)])}
        )
        self.action_space = spaces.Dict({"push": spaces.Box(-1, 1, (1,)), "idle": spaces.Box(0, 5, (2,))})

    def observe(self):
        return {"x": np.array([self.x], np.float32), "more": (np.eye(2, dtype=np.float32), np.int64(self.steps % 3))}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.steps += 1
        self.x = 0.9 * self.x + 0.3 * float(action["push"][0])
        return self.observe(), -self.x**2, False, self.steps >= 40, {}
