"""The results of a run, as arrays."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Iterator, Mapping, Optional, Union

import numpy as np

from . import _core, _gym

PathLike = Union[str, "os.PathLike[str]"]


def _know_task(folder: PathLike) -> None:
    """Registers the task of a run on a Python environment, which the library needs to read it."""
    for name in ("population.toml", "config.toml"):
        file = Path(folder) / name
        if file.exists():
            task = _core.raw_settings(str(file)).get("run.task", "")
            if task.startswith(_core.python_task):
                _gym.register(task)
            return


def run_folder(path: PathLike) -> Path:
    """The run's folder of a policy file, which may lie deeper in it; another path is returned as it is."""
    file = Path(path)
    above = (folder for folder in file.parents if file.is_file() and (folder / "config.toml").is_file())
    return next(above, file)


class Curves(Mapping[str, np.ndarray]):
    """The columns of progress.csv, each an array (seeds, epochs). NaN: not measured (train.eval_epochs, a task without
    a goal), or not yet trained."""

    def __init__(self, folders: list[str]):
        tables = [_core.read_curves(folder) for folder in folders]
        longest = max((len(table["epoch"]) for table in tables), default=0)
        self._columns: dict[str, np.ndarray] = {}
        for name in tables[0]:
            rows = np.full((len(tables), longest), np.nan)
            for row, table in zip(rows, tables):
                row[: len(table[name])] = table[name]
            self._columns[name] = rows

    def __getitem__(self, name: str) -> np.ndarray:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        shape = self._columns["epoch"].shape
        seeds, epochs = (f"{n} {word}" if n == 1 else f"{n} {word}s" for n, word in zip(shape, ("seed", "epoch")))
        return f"Curves of {seeds}, {epochs}: {', '.join(self._columns)}"


class Run:
    """A run: the folder of one agent, or of several trained together.

    >>> run = getfixture("trained_run")
    >>> run.task, run.algorithm, run.seeds
    ('GridChaos-v0:s', 'dsac', [0, 1])
    >>> run.curves["eval_return_mean"].shape
    (2, 3)
    >>> run.policy(1)([0.0, 0.0]).shape
    (2,)
    """

    def __init__(self, folder: PathLike):
        self.folder = Path(folder)
        _know_task(folder)
        described = _core.describe(str(folder))
        self.task: str = described["task"]
        self.algorithm: str = described["algorithm"]
        self.epochs: int = described["epochs"]
        self.seeds: list[int] = described["seeds"]
        self.folders = [Path(folder) for folder in described["folders"]]  # one for each seed
        self._curves: Optional[Curves] = None

    @property
    def curves(self) -> Curves:
        """The columns of progress.csv, read once; `reload()` reads them again."""
        if self._curves is None:
            self._curves = Curves([str(folder) for folder in self.folders])
        return self._curves

    def reload(self) -> "Run":
        self._curves = None
        return self

    def frame(self) -> Any:
        """All curves as a pandas.DataFrame, with a row for each seed and epoch."""
        import pandas

        parts = []
        for i, seed in enumerate(self.seeds):
            part = pandas.DataFrame({name: values[i] for name, values in self.curves.items()})
            part.insert(0, "seed", seed)
            parts.append(part.dropna(subset=["epoch"]))
        return pandas.concat(parts, ignore_index=True)

    @property
    def finished(self) -> bool:
        return all(_core.summary(str(folder))["finished"] for folder in self.folders)

    @property
    def scores(self) -> np.ndarray:
        """The mean evaluation return over the last epochs, for each seed (docs/statistics.md)."""
        return np.array([_core.summary(str(folder))["score"] for folder in self.folders])

    @property
    def first_goal_epochs(self) -> list[Optional[int]]:
        return [_core.summary(str(folder))["first_goal_epoch"] for folder in self.folders]

    def policy(self, seed: Optional[int] = None) -> "_core.Policy":
        """The trained policy of a seed, by default of the first."""
        if seed is not None and seed not in self.seeds:
            raise _core.InputError(f"seed {seed!r}: the run has the seeds {self.seeds}")
        index = 0 if seed is None else self.seeds.index(seed)
        return _core.Policy.load(str(self.folders[index]))

    def report(self, out: Optional[PathLike] = None) -> Path:
        """Writes report.html with tables and figures, by default into the run's folder; returns its path."""
        page, _ = _core.report_of_run(str(self.folder), str(out if out is not None else self.folder))
        return Path(page)

    def __repr__(self) -> str:
        seeds = f"seed {self.seeds[0]}" if len(self.seeds) == 1 else f"{len(self.seeds)} seeds"
        return f"Run({str(self.folder)!r}: {self.algorithm} on {self.task}, {seeds})"


def status(folder: PathLike) -> list[dict]:
    """The state of all runs in a folder: progress, and the reason for a failure."""
    for directory, _, files in os.walk(folder):
        if "config.toml" in files or "population.toml" in files:
            with suppress(_core.Error):  # a run that cannot be read is reported as unreadable
                _know_task(directory)
    return _core.status(str(folder))
