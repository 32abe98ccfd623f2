"""Training and resuming."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import ExitStack
from typing import Any, Iterable, Mapping, Optional, Union

from . import _core, _gym
from ._arguments import count, seed_list, settings_of, take_steps
from ._progress import Event, Progress, bar_for
from ._run import PathLike, Run, _know_task


def _span(seeds: list[int]) -> str:
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]}-{seeds[-1]}"


class _Stage:
    """The context of a call that trains: the environments' source, worker processes, the progress bar."""

    def __init__(
        self, task: str, source: Optional[_gym.Source], workers: int, progress: Progress, title: str, agents: int, folder: PathLike
    ):
        self._task, self._source, self._workers = task, source, count("workers", workers)
        self._progress, self._bar, self._agents = progress, bar_for(progress, title), agents
        self._pool: Any = None
        self._is_ended = False  # by a second Ctrl-C
        given = "" if source is None else ", env_factory"
        if source is not None and source.success is not None:
            given += f", success={source.success!r}"
        self.resume_call = f"ovde.resume({os.fspath(folder)!r}{given})"

    def _event(self, event: Event) -> None:
        if self._bar is not None:
            self._bar.epoch(event, self._agents)
        elif callable(self._progress):
            self._progress(event)

    def interrupted(self, times: int) -> None:
        """Called at each Ctrl-C, with their number. An environment's step may never return."""
        if self._source is None:
            return
        if times == 1:
            print("ovde: saving after this step; a second Ctrl-C ends it at once", file=sys.stderr)
            return
        self._is_ended = True
        if self._pool is not None:
            self._pool.kill()
        else:
            _core.interrupt_environments()

    @property
    def listener(self) -> Any:
        return self._event if self._bar is not None or callable(self._progress) else None

    @property
    def note(self) -> Any:
        return self._bar.note if self._bar is not None else None

    def __enter__(self) -> "_Stage":
        with ExitStack() as stack:
            if self._bar is not None:
                stack.callback(self._bar.close)
            if self._source is not None:
                stack.enter_context(_gym.using(self._task, self._source))
                if self._workers > 0:
                    from ._workers import Pool

                    self._pool = self._source.pool = Pool(self._source, self._workers)
                    stack.callback(self._pool.close)
                    stack.callback(setattr, self._source, "pool", None)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._stack.close()
        if kind is KeyboardInterrupt:
            how = "ended at once; its last checkpoint is kept" if self._is_ended else "interrupted; the state is saved"
            print(f"ovde: {how}: {self.resume_call}", file=sys.stderr)
        # the environment's own exception, with its traceback, becomes the cause of the library's
        if isinstance(error, _core.Error) and self._source is not None and self._source.failure is not None:
            raise error from self._source.failure


def train(
    task: Union[PathLike, _gym.EnvFactory],
    /,
    algorithm: str = _core.default_algorithm,
    *,
    seeds: Union[int, Iterable[int]] = 0,
    seed: Optional[int] = None,
    epochs: Optional[int] = None,
    steps: Optional[int] = None,
    out: Optional[PathLike] = None,
    threads: int = 0,
    device: str = "cpu",
    workers: int = 0,
    success: Optional[str] = None,
    name: Optional[str] = None,
    progress: Progress = None,
    **tables: Any,
) -> Run:
    """Trains one agent for each seed and returns the Run, whose folder is `out`.

    `task` is a task of the library ("NoisyAnt-v4") or a function that makes a Gymnasium environment.
    Further keyword arguments are tables of docs/config.md, each a dict of its keys (task={...} is one of them,
    so the task itself is a positional argument), or words of other libraries such as gamma=0.98, batch_size=128
    or total_timesteps=100_000 (docs/words.md).

    seeds     one seed or several; seed=3 is seeds=3; 0 by default
    epochs    length of the run; or steps, the number of environment steps
    out       folder; by default runs/TASK-ALGORITHM-SEEDS, with a number if that exists
    threads   0: all cores
    device    "cpu", or "cuda": all agents in lockstep on one GPU
    workers   processes for Python environments; 0: all in this process, under the interpreter's lock
    success   key of info that tells whether the goal was reached ("is_success")
    name      task name of a Python environment; by default the environment's own id
    progress  True: a bar; False: nothing; None: a bar on a terminal or in a notebook, otherwise lines;
              or a function that gets a dict after every epoch

    Ctrl-C, or an exception of `progress`, saves the state and is raised; `resume` continues the run. A second Ctrl-C
    ends a run on a Python environment at once, also if its step does not return; `resume` continues from the last checkpoint.

    >>> import ovde, tempfile
    >>> run = ovde.train("GridChaos-v0:s", "dsac", epochs=2, out=tempfile.mkdtemp() + "/run",
    ...                  network={"hidden": [16]}, train={"batch": 32, "warmup_steps": 50, "eval_steps": 100})
    >>> run.curves["updates"]
    array([[100., 200.]])
    """
    source = None
    if isinstance(task, os.PathLike):  # a task file
        task = os.fspath(task)
    if not isinstance(task, str):
        source = _gym.Source(task, success)
        task = _gym.name_of(source, name)
    elif workers or success is not None or name is not None:
        raise _core.InputError("workers, success and name are for Python environments, not for tasks of the library")
    else:
        _gym.check_ours(task, f"ovde.train(lambda: gymnasium.make({task!r}), ...)")
    if seed is not None:
        if not (isinstance(seeds, int) and seeds == 0):
            raise _core.InputError(f"seed={seed!r} and seeds={seeds!r}: give one of them")
        seeds = seed
    if "n_seeds" in tables:  # the command line's words --n-seeds and --algo
        if not (isinstance(seeds, int) and seeds == 0):
            raise _core.InputError(f"n_seeds={tables['n_seeds']!r} and seeds={seeds!r}: give one of them")
        seeds = range(count("n_seeds", tables.pop("n_seeds"), 1))
    algorithm = tables.pop("algo", algorithm)
    all_seeds = seed_list(seeds)
    threads = count("threads", threads)
    # in any case, as on the command line
    algorithm = next((a["name"] for a in _core.algorithms() if a["name"] == algorithm.lower()), algorithm)

    words = {**tables, "steps": steps}
    total_steps = take_steps(words, epochs)
    settings = settings_of(words)
    if epochs is not None and settings.setdefault("train.epochs", epochs) != epochs:
        raise _core.InputError(f"epochs={epochs!r} and train={{'epochs': {settings['train.epochs']!r}}}: give one of them")
    if source is not None:
        # stored explicitly, because a task of this name may be registered with another time limit
        settings.setdefault("task.horizon", source.horizon)
    if out is None:
        short = task.removeprefix(_core.python_task).replace("/", "-").replace(":", "-")
        out = _core.unused_folder(f"runs/{short}-{algorithm}-{_span(all_seeds)}")
    if source is not None:
        source.warn_if_not_repeatable()
    title = f"{algorithm} on {task}"
    with _Stage(task, source, workers, progress, title, len(all_seeds), out) as stage:
        finished = _core.train(
            task, algorithm, all_seeds, settings, total_steps, os.fspath(out), threads, device,
            stage.listener, stage.note, stage.interrupted,
        )  # fmt: skip
    return _end(finished, out, stage)


def resume(
    folder: PathLike,
    env_factory: Optional[_gym.EnvFactory] = None,
    *,
    epochs: Optional[int] = None,
    steps: Optional[int] = None,
    success: Optional[str] = None,
    threads: int = 0,
    device: str = "cpu",
    workers: int = 0,
    progress: Progress = None,
) -> Run:
    """Continues a run and returns it when it is finished.

    `epochs` or `steps` is the new length of the run: a finished run is trained for longer.
    A run on a Python environment needs the function that makes it, and `success` as before. The environment is
    always made by that function: an episode in progress is played again from its seed and actions. Where that does not lead
    to the saved observation, a warning gives the reason, and the run continues with a new episode.
    """
    _know_task(folder)
    described = _core.describe(os.fspath(folder))
    task = described["task"]
    source = None
    if task.startswith(_core.python_task):
        if env_factory is None:
            raise _core.InputError(f"{task} is a Python environment: resume(folder, env_factory)")
        if task.endswith("+goal") != (success is not None):
            how = "without success=: leave it out"
            if success is None:
                how = "with success=: pass success=KEY, the key of info that tells whether the goal was reached"
            raise _core.InputError(f"{task} was trained {how}")
        source = _gym.Source(env_factory, success)
    elif env_factory is not None:
        raise _core.InputError(f"{task} is a task of the library: resume(folder) without an environment")

    def warn(text: str) -> None:
        why = source and (source.lost_because or source.unsaved_because)
        warnings.warn(text + (f" ({why})" if why else ""), RuntimeWarning, stacklevel=3)

    threads = count("threads", threads)
    total_steps = take_steps({"steps": steps}, epochs)
    if epochs is not None:
        epochs = count("epochs", epochs, 1)
    title = f"{described['algorithm']} on {task}"
    with _Stage(task, source, workers, progress, title, len(described["seeds"]), folder) as stage:
        finished = _core.resume(
            os.fspath(folder), epochs, total_steps, threads, device, stage.listener, stage.note, warn, stage.interrupted
        )
    return _end(finished, folder, stage)


def _end(finished: bool, folder: PathLike, stage: _Stage) -> Run:
    if not finished:
        raise _core.Error(f"stopped before the end; the state is saved: {stage.resume_call}")
    return Run(folder)
