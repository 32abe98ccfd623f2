"""Studies, and comparisons of learning curves of any origin."""

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
    """The curves (seeds, epochs), the seeds, and the algorithm of a Run."""
    if isinstance(given, Run):
        return given.curves["eval_return_mean"], given.seeds, given.algorithm
    try:
        if isinstance(given, Mapping):
            given = given["eval_return_mean"]
        curves = np.asarray(given, dtype=float)
    except (KeyError, TypeError, ValueError):
        raise _core.InputError(
            f"{method}: must be a Run, its curves, or numbers of the shape (seeds, epochs); ovde.Run(folder) opens a run"
        ) from None
    if curves.ndim != 2 or 0 in curves.shape:
        raise _core.InputError(f"{method}: curves have the shape (seeds, epochs), not {curves.shape}")
    return curves, list(range(len(curves))), ""


def _check_whole(method: str, curve: np.ndarray, seed: int) -> None:
    """Refuses a curve that ends in more NaN than lie between two of its evaluations: the run diverged or is not
    finished."""
    evaluated = np.flatnonzero(~np.isnan(curve))
    if len(evaluated) == 0:
        raise _core.InputError(f"{method}, seed {seed}: the curve is NaN throughout")
    gap = np.diff(evaluated).max(initial=1) - 1
    tail = len(curve) - 1 - evaluated[-1]
    if tail > gap:
        raise _core.InputError(
            f"{method}, seed {seed}: the curve is NaN after epoch {evaluated[-1]}, for {tail} of {len(curve)} epochs; "
            "a run that diverged or is not finished cannot be compared"
        )


class Comparison:
    """The result of `compare`."""

    def __init__(self, core: Any):
        self._core = core

    @property
    def cells(self) -> list[dict]:
        """For each task and method: the scores of the runs, their mean, standard deviation and bootstrap interval."""
        return self._core.cells()

    @property
    def tests(self) -> list[dict]:
        """Ours against each baseline: verdict, test, p-value, and p-value after Holm's correction; both p-values are
        None if there are too few runs for a test."""
        return self._core.tests()

    def to_markdown(self) -> str:
        return self._core.markdown()

    def to_html(self, file: PathLike) -> Path:
        """Writes the report as one self-contained page."""
        with tempfile.TemporaryDirectory() as folder:
            page, _ = self._core.report(folder)
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, file)
        return Path(file)

    def report(self, folder: PathLike) -> Path:
        """Writes report.html with tables (CSV, Markdown, LaTeX) and figures; returns its path."""
        page, _ = self._core.report(os.fspath(folder))
        return Path(page)

    def __str__(self) -> str:
        lines = [
            f"{cell['task']}, {cell['method']}: {cell['mean']:.2f} "
            f"[{cell['low']:.2f}, {cell['high']:.2f}], {cell['runs']} {'run' if cell['runs'] == 1 else 'runs'}"
            for cell in self.cells
        ]
        lines += [
            f"{test['task']}: {test['ours']} against {test['baseline']}: {test['verdict']}"
            + (f", p = {test['p_holm']:.3g} (Holm)" if test["p_holm"] is not None else "")
            for test in self.tests
        ]
        return "\n".join(lines)


def _named(runs: Iterable[Any]) -> dict[str, Any]:
    """Runs by algorithm, or by folder where an algorithm occurs twice; arrays by number."""
    if isinstance(runs, (Run, str, os.PathLike)):
        raise _core.InputError(f"{runs!r}: must be a list of runs or arrays, or a dict of them by name")
    given = list(runs)
    algorithms = [run.algorithm for run in given if isinstance(run, Run)]
    names: dict[str, Any] = {}
    for number, run in enumerate(given, 1):
        name = f"method {number}"
        if isinstance(run, Run):
            name = run.algorithm if algorithms.count(run.algorithm) == 1 else str(run.folder)
        if name in names:
            raise _core.InputError(f"{name} is given twice")
        names[name] = run
    return names


def compare(
    methods: Union[Mapping[str, Any], Iterable[Any]],
    *,
    ours: Union[None, str, Iterable[str]] = None,
    title: str = "Comparison",
    text: str = "",
) -> Comparison:
    """Compares the evaluation returns of methods, each a Run, its curves or an array (seeds, epochs).

    `methods` is a dict by name, or a list of runs, which are named after their algorithms. For several tasks it is a
    dict of such dicts: {"Ant": {"sac": ..., "ovde": ...}, ...}. All methods of a task must have the same number of
    epochs. NaN marks an epoch without evaluation; a curve that ends in more of them than lie between two
    evaluations is refused. The score of a run is the mean over its last epochs; `ours`, by default the last method,
    is tested against each of the others, with Holm's correction over all tests (docs/statistics.md).

    >>> import numpy, ovde
    >>> rng = numpy.random.default_rng(0)
    >>> result = ovde.compare({"theirs": rng.normal(0, 1, (8, 50)), "mine": rng.normal(2, 1, (8, 50))})
    >>> result.tests[0]["verdict"]
    'better'
    """
    if not isinstance(methods, Mapping):
        methods = _named(methods)
    nested = all(isinstance(value, Mapping) and "eval_return_mean" not in value for value in methods.values())
    tasks: dict[str, Mapping[str, Any]] = dict(methods) if nested else {_task_of(methods) or "task": methods}
    names = list(next(iter(tasks.values()), {}))
    for name in [*tasks, *names]:
        if not isinstance(name, str):
            raise _core.InputError(f"{name!r}: the name of a task or method must be a string")
    if not names:
        raise _core.InputError("nothing to compare")
    own = [names[-1]] if ours is None else [ours] if isinstance(ours, str) else list(ours)
    for name in own:
        if name not in names:
            raise _core.InputError(f"ours={name!r} is none of the methods {names}")

    core = _core.Contenders(title, text)
    for task, contenders in tasks.items():
        if list(contenders) != names:
            raise _core.InputError(f"{task} has the methods {list(contenders)}, the first task {names}")
        _task_of(contenders)  # refuses runs of different tasks
        epochs = 0  # of the first method
        for method, given in contenders.items():
            curves, seeds, algorithm = _curves(method, given)
            for curve, seed in zip(curves, seeds):
                _check_whole(method, curve, seed)
            epochs = epochs or curves.shape[1]
            if curves.shape[1] != epochs:
                raise _core.InputError(
                    f"{task}: {names[0]} has {epochs} epochs, {method} {curves.shape[1]}; "
                    "the numbers must be equal, such as curves[:, :50] of each"
                )
            run = os.fspath(given.folders[0]) if isinstance(given, Run) else None
            core.add(task, method, method in own, algorithm, curves.tolist(), seeds, run)
    return Comparison(core)


def _task_of(methods: Mapping[str, Any]) -> Optional[str]:
    """The task of the runs among the methods."""
    tasks = {method: given.task for method, given in methods.items() if isinstance(given, Run)}
    if len(set(tasks.values())) > 1:
        which = ", ".join(f"{method}: {task}" for method, task in tasks.items())
        raise _core.InputError(f"runs of different tasks ({which}); several tasks are given as {{task: {{method: run}}}}")
    return next(iter(tasks.values()), None)


class Study:
    """A plan (docs/studies.md) with the folder of its results."""

    def __init__(self, plan: PathLike, out: Optional[PathLike] = None, smoke: bool = False):
        self._core = _core.Study(os.fspath(plan), None if out is None else os.fspath(out), smoke)
        self.folder = Path(self._core.folder)
        self._name = Path(plan).stem

    def run(self, jobs: int = 0, *, threads: int = 0, device: str = "cpu", progress: Progress = None) -> "Study":
        """Runs the unfinished cells of the plan. Raises Error after all others have run, if a cell failed."""
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
            raise _core.Error("stopped before the end; the state is saved, and run() continues")
        if outcome["failures"]:
            which = "; ".join(f"{row} / {column}: {why}" for row, column, why in outcome["failures"])
            raise _core.Error(f"{len(outcome['failures'])} of {outcome['cells']} cells failed: {which}")
        return self

    def report(self) -> Path:
        """Writes report.html, tables/ and figures/ into the study's folder; returns the path of the page."""
        page, _ = self._core.report()
        return Path(page)


def study(plan: PathLike, out: Optional[PathLike] = None, *, smoke: bool = False) -> Study:
    """The study of a plan file, with its results in `out`, by default runs/<name of the plan>.

    smoke: runs every cell for a few epochs with small networks, to test the plan.

        ovde.study("plan.toml").run(jobs=2).report()
    """
    return Study(plan, out, smoke)
