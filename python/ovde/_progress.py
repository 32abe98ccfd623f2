"""Progress of a run: a bar on a terminal and in a notebook, lines in a file or pipe."""

from __future__ import annotations

import math
import sys
import time
from typing import Any, Callable, Mapping, Optional, TextIO, Union

from . import _core

Event = Mapping[str, Any]
Progress = Union[None, bool, Callable[[Event], None]]

_BETWEEN_DRAWINGS = 0.1  # seconds
_BETWEEN_LINES = 10.0


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def _duration(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}" if whole >= 3600 else f"{whole // 60}:{whole % 60:02}"


class Bar:
    """Draws a progress bar. With `lines`, writes a new line at most every ten seconds instead.

    >>> import io
    >>> out = io.StringIO()
    >>> bar = Bar("dsac on Pendulum-v1", out)
    >>> bar.note("about 2 minutes")
    >>> bar.epoch({"seed": 0, "epoch": 4, "epochs": 10, "eval_return_mean": -120.5}, agents=1)
    >>> bar.close()
    >>> out.getvalue().startswith("dsac on Pendulum-v1: about 2 minutes\\n")
    True
    >>> "50 %" in out.getvalue() and "return -120.50" in out.getvalue()
    True
    """

    def __init__(self, title: str, out: Optional[TextIO] = None, lines: bool = False):
        self._title = title
        self._lines = lines
        self._out = out if out is not None else sys.stderr
        self._began = time.monotonic()
        self._drawn_at = -math.inf
        self._at_start: Optional[float] = None
        self._done: dict[int, int] = {}
        self._returns: dict[int, float] = {}
        self._longest = 0

    def epoch(self, event: Event, agents: int) -> None:
        self._done[event["seed"]] = event["epoch"] + 1
        if not math.isnan(event["eval_return_mean"]):  # NaN: the epoch was not evaluated
            self._returns[event["seed"]] = event["eval_return_mean"]
        share = sum(self._done.values()) / (agents * event["epochs"])
        self.show(share, f"return {sum(self._returns.values()) / len(self._returns):.2f}" if self._returns else "not evaluated yet")

    def note(self, text: str) -> None:
        """Writes a line of its own, above the bar."""
        if self._longest:
            self._out.write("\r" + " " * self._longest + "\r")
        self._out.write(f"{self._title}: {text}\n")
        self._out.flush()

    def show(self, share: float, text: str) -> None:
        now = time.monotonic()
        if share < 1 and now - self._drawn_at < (_BETWEEN_LINES if self._lines else _BETWEEN_DRAWINGS):
            return
        self._drawn_at = now
        if self._at_start is None:
            self._at_start = share  # a resumed run does not start at 0
        done_here = share - self._at_start
        spent = now - self._began
        left = f", {_duration(spent * (1 - share) / done_here)} left" if 0 < done_here and share < 1 else ""
        filled = round(24 * share)
        bar = ":" if self._lines else f" [{'=' * filled}{' ' * (24 - filled)}]"
        line = f"{self._title}{bar} {round(100 * share)} % {text}, {_duration(spent)}{left}"
        if self._lines:
            self._out.write(line + "\n")
        else:
            self._longest = max(self._longest, len(line))
            self._out.write("\r" + line.ljust(self._longest))
        self._out.flush()

    def close(self) -> None:
        if self._longest:
            self._out.write("\n")
            self._out.flush()


def bar_for(progress: Progress, title: str) -> Optional[Bar]:
    """The bar for the argument `progress`; None if it is False or a function."""
    if callable(progress) or progress is False:
        return None
    if progress is not None and progress is not True:
        raise _core.InputError(f"progress={progress!r}: must be True, False, None or a function of an event")
    return Bar(title, lines=progress is None and not (sys.stderr.isatty() or _in_notebook()))
