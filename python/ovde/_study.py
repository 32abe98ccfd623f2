"""Studies of plans, and comparisons of curves wherever they come from."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Iterable, Mapping, Optional, Union

import numpy as np

from . import _core
from ._arguments import count
from ._progress import Event, Progress, bar_for
from ._run import PathLike, Run

Curve = Union[Run, "np.typing.ArrayLike"]


def _curves(method: str, given: Any) -> tuple[np.ndarray, list[int], str]:
    """(seeds, epochs), the seeds, and the algorithm where it is one of the library's."""
    if isinstance(given, Run):
        return given.curves["eval_return_mean"], given.seeds, given.algorithm
    if isinstance(given, Mapping):
        given = given["eval_return_mean"]
    curves = np.asarray(given, dtype=float)
    if curves.ndim != 2 or 0 in curves.shape:
        raise _core.InputError(f"{method}: curves have the shape (seeds, epochs), not {curves.shape}")
    return curves, list(range(len(curves))), ""


def _check_whole(method: str, curve: np.ndarray, seed: int) -> None:
    """NaN is an epoch without an evaluation. Where there are more of them after the last evaluation than between any
    two, the run has diverged or has not ended."""
    evaluated = np.flatnonzero(~np.isnan(curve))
    if len(evaluated) == 0:
        raise _core.InputError(f"{method}, seed {seed}: the curve is NaN throughout")
    gap = np.diff(evaluated).max(initial=1) - 1
    tail = len(curve) - 1 - evaluated[-1]
    if tail > gap:
        raise _core.InputError(
            f"{method}, seed {seed}: the curve is NaN after epoch {evaluated[-1]}, for {tail} of {len(curve)} epochs; "
            "what has diverged or has not ended cannot be compared"
        )


class Comparison:
    """What a set of curves says: see `compare`."""

    def __init__(self, core: Any):
        self._core = core

    @property
    def cells(self) -> list[dict]:
        """For each task and method: the runs' scores, their mean, deviation and bootstrap interval."""
        return self._core.cells()

    @property
    def tests(self) -> list[dict]:
        """Ours against each baseline: verdict, test, p-value, and the p-value after Holm's correction; both
        None where there are too few runs to test."""
        return self._core.tests()

    def to_markdown(self) -> str:
        return self._core.markdown()

    def to_html(self, file: PathLike) -> Path:
        """Writes the report as one page with nothing outside itself."""
        with tempfile.TemporaryDirectory() as folder:
            page, _ = self._core.report(folder)
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, file)
        return Path(file)

    def report(self, folder: PathLike) -> Path:
        """Writes report.html with its tables (CSV, Markdown, LaTeX) and figures beside it; returns the page."""
        page, _ = self._core.report(os.fspath(folder))
        return Path(page)

    def __str__(self) -> str:
        lines = [
            f"{cell['task']}, {cell['method']}: {cell['mean']:.2f} "
            f"[{cell['low']:.2f}, {cell['high']:.2f}], {cell['runs']} runs"
            for cell in self.cells
        ]
        lines += [
            f"{test['task']}: {test['ours']} against {test['baseline']}: {test['verdict']}"
            + (f", p = {test['p_holm']:.3g} (Holm)" if test["p_holm"] is not None else "")
            for test in self.tests
        ]
        return "\n".join(lines)


def compare(
    methods: Mapping[str, Any],
    *,
    ours: Union[None, str, Iterable[str]] = None,
    title: str = "Comparison",
    text: str = "",
) -> Comparison:
    """Compares the evaluation returns of methods, each a Run, its curves or an array (seeds, epochs).

    For several tasks, `methods` holds such a mapping for each of them: {"Ant": {"sac": ..., "ovde": ...}, ...}.
    Methods of a task have equally many epochs. NaN is an epoch without an evaluation; a curve that ends in more
    of them than lie between two evaluations is refused.
    A run is reduced to its score, the mean over its last epochs; `ours` (otherwise the last method) is tested
    against every other one, with Holm's correction over all tests (docs/statistics.md).

    >>> import numpy, ovde
    >>> rng = numpy.random.default_rng(0)
    >>> result = ovde.compare({"theirs": rng.normal(0, 1, (8, 50)), "mine": rng.normal(2, 1, (8, 50))})
    >>> result.tests[0]["verdict"]
    'better'
    """
    if not methods:
        raise _core.InputError("nothing to compare")
    nested = all(isinstance(value, Mapping) and "eval_return_mean" not in value for value in methods.values())
    tasks: dict[str, Mapping[str, Any]] = dict(methods) if nested else {_task_of(methods) or "task": methods}
    names = list(next(iter(tasks.values())))
    own = [names[-1]] if ours is None else [ours] if isinstance(ours, str) else list(ours)
    for name in own:
        if name not in names:
            raise _core.InputError(f"ours={name!r} is none of the methods {names}")

    core = _core.Contenders(title, text)
    for task, contenders in tasks.items():
        if list(contenders) != names:
            raise _core.InputError(f"{task} has the methods {list(contenders)}, the first task {names}")
        _task_of(contenders)  # refuses runs of different ones
        epochs = 0  # of the first method
        for method, given in contenders.items():
            curves, seeds, algorithm = _curves(method, given)
            for curve, seed in zip(curves, seeds):
                _check_whole(method, curve, seed)
            epochs = epochs or curves.shape[1]
            if curves.shape[1] != epochs:
                raise _core.InputError(
                    f"{task}: {names[0]} has {epochs} epochs, {method} {curves.shape[1]}; "
                    "they must be as many, such as curves[:, :50] of each"
                )
            core.add(task, method, method in own, algorithm, curves.tolist(), seeds)
    return Comparison(core)


def _task_of(methods: Mapping[str, Any]) -> Optional[str]:
    """The task of those that are runs."""
    tasks = {method: given.task for method, given in methods.items() if isinstance(given, Run)}
    if len(set(tasks.values())) > 1:
        which = ", ".join(f"{method}: {task}" for method, task in tasks.items())
        raise _core.InputError(f"runs of different tasks ({which}); several tasks are given as {{task: {{method: run}}}}")
    return next(iter(tasks.values()), None)


class Study:
    """A plan (docs/studies.md) and the folder of its results: see `study`."""

    def __init__(self, plan: PathLike, out: Optional[PathLike] = None, smoke: bool = False):
        self._core = _core.Study(os.fspath(plan), None if out is None else os.fspath(out), smoke)
        self.folder = Path(self._core.folder)
        self._name = Path(plan).stem

    def run(self, jobs: int = 0, *, threads: int = 0, device: str = "cpu", progress: Progress = None) -> "Study":
        """Runs what is left of the plan; what was interrupted goes on. Error if a cell fails, after all others."""
        jobs, threads = count("jobs", jobs), count("threads", threads)
        bar = bar_for(progress, self._name)

        def event(now: Event) -> None:
            if bar is not None:
                bar.show(now["done"], f"{now['row']} / {now['column']}")
            elif callable(progress):
                progress(now)

        try:
            outcome = self._core.run(jobs, threads, device, event if bar is not None or callable(progress) else None)
        finally:
            if bar is not None:
                bar.close()
        if outcome["stopped"]:
            raise _core.Error("stopped before its end; what was learnt is saved, and run() goes on")
        if outcome["failures"]:
            which = "; ".join(f"{row} / {column}: {why}" for row, column, why in outcome["failures"])
            raise _core.Error(f"{len(outcome['failures'])} of {outcome['cells']} cells failed: {which}")
        return self

    def report(self) -> Path:
        """Writes report.html, tables/ and figures/ into the study's folder; returns the page."""
        page, _ = self._core.report()
        return Path(page)


def study(plan: PathLike, out: Optional[PathLike] = None, *, smoke: bool = False) -> Study:
    """The study of a plan's file. Its results go to `out`, otherwise to runs/<name of the plan>.

    smoke: every cell at a few epochs of small agents, to see that the plan works.

        ovde.study("plan.toml").run(jobs=2).report()
    """
    return Study(plan, out, smoke)
