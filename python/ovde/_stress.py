"""Stress tests: how much of its return a policy keeps under disturbances."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Iterable, Optional, Sequence, Union

import numpy as np

from . import _core, _gym
from ._arguments import count, seed_list
from ._progress import Event, Progress, bar_for
from ._run import PathLike, Run, run_folder, status


class Stress:
    """The results of `stress`; docs/stress.md has the definitions."""

    def __init__(self, results: dict[str, Any], text: str, page: PathLike):
        self._text = text
        self.page = Path(page)
        self.folder = self.page.parent
        self.results = results  # stress.json
        self.severities: np.ndarray = np.array(results["severities"])
        self.disturbances: list[str] = [each["name"] for each in results["disturbances"]]
        self.policies: list[str] = [each["name"] for each in results["policies"]]
        self.random_return: float = results["random_return"]
        self.left_out: list[str] = results["left_out"]
        self.tests: list[dict[str, Any]] = results["tests"]

    def profile(self, disturbance: str, policy: Optional[str] = None) -> dict[str, np.ndarray]:
        """The columns of profiles.csv, each an array over the severities; by default of the first policy."""
        return {
            name: np.array(values, dtype=float)
            for name, values in self._profile(disturbance, policy).items()
            if isinstance(values, list)
        }

    def half_lost_at(self, disturbance: str, policy: Optional[str] = None) -> Optional[float]:
        """The severity at which half of the return is lost; None: not up to severity 1, or not defined."""
        return self._profile(disturbance, policy)["half_lost_at"]

    def _profile(self, disturbance: str, policy: Optional[str]) -> dict[str, Any]:
        name = self.policies[0] if policy is None else policy
        if name not in self.policies:
            raise _core.InputError(f"policy={policy!r}: the policies are {self.policies}")
        if disturbance not in self.disturbances:
            raise _core.InputError(f"{disturbance!r}: the disturbances are {self.disturbances}")
        return self.results["policies"][self.policies.index(name)]["profiles"][disturbance]

    def __str__(self) -> str:
        return self._text.rstrip("\n")


def _runs_in(paths: list[str]) -> list[dict]:
    """The runs in folders, or of policy files, which may lie in a folder of their run."""
    return [run for path in paths for run in status(run_folder(path))]


def stress(
    runs: Union[Run, PathLike, Iterable[Union[Run, PathLike]]],
    env_factory: Optional[_gym.EnvFactory] = None,
    *,
    disturb: Union[None, str, Sequence[str]] = None,
    severities: Sequence[float] = (0, 0.2, 0.4, 0.6, 0.8, 1),
    episodes: int = 20,
    seed: int = 0,
    against: Optional[str] = None,
    threads: int = 0,
    success: Optional[str] = None,
    out: Optional[PathLike] = None,
    progress: Progress = None,
) -> Stress:
    """Evaluates finished policies over a grid of disturbances and severities, as `ovde stress` does.

    `runs` are runs or their folders. Runs on a Python environment need the function that makes it, and `success` as
    when they were trained. `disturb` has names of disturbances or "KEY=VALUE"; by default all that the task can have.
    `against` is the name of the runs that the others are tested against. The results are in the folder `out`; the
    same call with the same folder continues a test that was interrupted.

    >>> import ovde, tempfile
    >>> test = ovde.stress(getfixture("trained_run"), disturb="noise.action=1", severities=[0, 1], episodes=2,
    ...                    out=tempfile.mkdtemp() + "/stress")
    >>> test.profile("noise.action")["return"].shape
    (2,)
    """
    given = [runs] if isinstance(runs, (Run, str, os.PathLike)) else list(runs)
    folders = [os.fspath(run.folder) if isinstance(run, Run) else os.fspath(run) for run in given]
    words = [disturb] if isinstance(disturb, str) else list(disturb or [])
    with ExitStack() as stack:
        tasks = {run["task"] for run in _runs_in(folders) if run["task"].startswith(_core.python_task)}
        if tasks and env_factory is None:
            raise _core.InputError(f"{tasks.pop()} is a Python environment: stress(runs, env_factory)")
        if env_factory is not None:
            if len(tasks) != 1:
                raise _core.InputError("env_factory is for runs on one Python environment")
            stack.enter_context(_gym.using(tasks.pop(), _gym.Source(env_factory, success)))
        bar = bar_for(progress, "stress test")
        if bar is not None:
            stack.callback(bar.close)

        def event(now: Event) -> None:
            if bar is not None:
                bar.show(now["done"] / now["of"], f"{now['done']} of {now['of']} episodes")
            elif callable(progress):
                progress(now)

        found = _core.stress(
            folders, words, [float(severity) for severity in severities], count("episodes", episodes, 1),
            seed_list(seed)[0], against or "", count("threads", threads),
            os.fspath(_core.unused_folder("runs/stress") if out is None else out),
            event if bar is not None or callable(progress) else None,
        )  # fmt: skip
    if found is None:
        raise _core.Error("stopped before the end; the same call with the same folder continues")
    return Stress(json.loads(found["json"]), found["text"], found["page"])
