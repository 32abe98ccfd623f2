"""Training, and going on with it."""

from __future__ import annotations

import os
import warnings
from contextlib import ExitStack
from typing import Any, Iterable, Mapping, Optional, Union

from . import _core, _gym
from ._arguments import count, seed_list
from ._progress import Event, Progress, bar_for
from ._run import PathLike, Run, _know_task


def _settings(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for table, values in tables.items():
        if not isinstance(values, Mapping):
            raise _core.InputError(f"{table}={values!r}: a table of keys is a dict, such as explore={{'alpha': 0.1}}")
        for key, value in values.items():
            settings[f"{table}.{key}"] = value
    return settings


def _span(seeds: list[int]) -> str:
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]}-{seeds[-1]}"


class _Stage:
    """Everything around a call that trains: the environments' source, worker processes, the bar."""

    def __init__(self, task: str, source: Optional[_gym.Source], workers: int, progress: Progress, title: str, agents: int):
        self._task, self._source, self._workers = task, source, count("workers", workers)
        self._progress, self._bar, self._agents = progress, bar_for(progress, title), agents

    def _event(self, event: Event) -> None:
        if self._bar is not None:
            self._bar.epoch(event, self._agents)
        elif callable(self._progress):
            self._progress(event)

    @property
    def listener(self) -> Any:
        return self._event if self._bar is not None or callable(self._progress) else None

    def __enter__(self) -> "_Stage":
        with ExitStack() as stack:  # what has been entered is left again if a later part fails
            if self._bar is not None:
                stack.callback(self._bar.close)
            if self._source is not None:
                stack.enter_context(_gym.using(self._task, self._source))
                if self._workers > 0:
                    from ._workers import Pool

                    pool = self._source.pool = Pool(self._source, self._workers)
                    stack.callback(pool.close)
                    stack.callback(setattr, self._source, "pool", None)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._stack.close()
        # the environment's own exception, with its traceback, is the cause of the library's
        if isinstance(error, _core.Error) and self._source is not None and self._source.failure is not None:
            raise error from self._source.failure


def train(
    task: Union[str, _gym.EnvFactory],
    /,
    algorithm: str = "ovde_g",
    *,
    seeds: Union[int, Iterable[int]] = 0,
    epochs: Optional[int] = None,
    out: Optional[PathLike] = None,
    threads: int = 0,
    device: str = "cpu",
    workers: int = 0,
    success: Optional[str] = None,
    name: Optional[str] = None,
    progress: Progress = None,
    **tables: Mapping[str, Any],
) -> Run:
    """Trains one agent for each seed and returns the Run, whose folder is `out`.

    `task` is a task of the library ("NoisyAnt-v4") or a function that makes a Gymnasium environment.
    Further keyword arguments are tables of docs/config.md, each a dict of its keys; task={...} is one of them,
    so the task itself has no keyword.

    threads   0: all cores
    device    "cpu", or "cuda": a population in lockstep on one GPU
    workers   processes for the environments of Python; 0: all in this one, under its lock
    success   key of the step's info that says that the goal was reached ("is_success")
    name      of the task, for environments of Python; otherwise the environment's own id
    progress  True: a bar; False: silence; None: a bar where someone looks; or a function that is given
              a dict after every epoch

    Ctrl-C, and an exception in `progress`, save what was learnt before they are raised; `resume` goes on.

    >>> import ovde, tempfile
    >>> run = ovde.train("GridChaos-v0:s", "dsac", epochs=2, out=tempfile.mkdtemp() + "/run",
    ...                  network={"hidden": [16]}, train={"batch": 32, "warmup_steps": 50, "eval_steps": 100})
    >>> run.curves["updates"]
    array([[100., 200.]])
    """
    source = None
    if not isinstance(task, str):
        source = _gym.Source(task, success)
        task = _gym.name_of(source, name)
    elif workers or success is not None or name is not None:
        raise _core.InputError("workers, success and name are for environments of Python, not for tasks of the library")

    settings = _settings(tables)
    if epochs is not None and settings.setdefault("train.epochs", epochs) != epochs:
        raise _core.InputError(f"epochs={epochs!r} and train={{'epochs': {settings['train.epochs']!r}}}: give one of them")
    if source is not None:
        # said, since a task that is known already may have been registered with another
        settings.setdefault("task.horizon", source.horizon)
    all_seeds = seed_list(seeds)
    threads = count("threads", threads)
    if out is None:
        short = task.removeprefix("python/").replace("/", "-")
        out = f"runs/{short}-{algorithm}-{_span(all_seeds)}"
    with _Stage(task, source, workers, progress, f"{algorithm} on {task}", len(all_seeds)) as stage:
        finished = _core.train(task, algorithm, all_seeds, settings, os.fspath(out), threads, device, stage.listener)
    return _end(finished, out)


def resume(
    folder: PathLike,
    env_factory: Optional[_gym.EnvFactory] = None,
    *,
    success: Optional[str] = None,
    threads: int = 0,
    device: str = "cpu",
    workers: int = 0,
    progress: Progress = None,
) -> Run:
    """Goes on with an interrupted run, and returns it when it is finished.

    A run on environments of Python needs the function that makes them again, and `success` as it was.
    It continues to the bit where an environment can be pickled in the middle of an episode. Where it
    cannot, a warning says so and why, and the episode that was in progress is given up.
    """
    _know_task(folder)
    described = _core.describe(os.fspath(folder))
    task = described["task"]
    source = None
    if task.startswith("python/"):
        if env_factory is None:
            raise _core.InputError(f"{task} is an environment of Python: resume(folder, env_factory)")
        if task.endswith("+goal") != (success is not None):
            raise _core.InputError(f"{task}: success must be {'a key of info' if success is None else 'None'}, as it was")
        source = _gym.Source(env_factory, success)
    elif env_factory is not None:
        raise _core.InputError(f"{task} is a task of the library: resume(folder) alone")

    def warn(text: str) -> None:
        why = f" ({source.unsaved_because})" if source is not None and source.unsaved_because else ""
        warnings.warn(text + why, RuntimeWarning, stacklevel=3)

    threads = count("threads", threads)
    title = f"{described['algorithm']} on {task}"
    with _Stage(task, source, workers, progress, title, len(described["seeds"])) as stage:
        finished = _core.resume(os.fspath(folder), threads, device, stage.listener, warn)
    return _end(finished, folder)


def _end(finished: bool, folder: PathLike) -> Run:
    if not finished:
        raise _core.Error(f"stopped before its end; what was learnt is saved: ovde.resume({os.fspath(folder)!r})")
    return Run(folder)
