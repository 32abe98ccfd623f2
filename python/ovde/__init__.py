"""ovde: noise-aware optimistic exploration for continuous control.

    run = ovde.train("NoisyAnt-v4", "ovde_g", seeds=range(4), epochs=50, out="runs/ant")
    run.curves["eval_return_mean"]                     # (seeds, epochs)
    policy = ovde.Policy.load("runs/ant/seed_0")
    policy(observation)

The manual is docs/python.md. Gymnasium is needed for make, make_vec, wrap_noise and evaluate, and for training on
your own environments; everything else needs NumPy alone.
"""

from __future__ import annotations

import atexit as _atexit
from typing import Any as _Any

try:
    import numpy as _numpy  # noqa: F401
except ImportError as _missing:
    raise ImportError(f"ovde needs NumPy (pip install numpy, or apt install python3-numpy): {_missing}") from _missing

from . import _core
from ._core import Error, InputError, Policy, algorithms, tasks
from ._evaluate import Evaluation, evaluate
from ._gym import fold_seed
from ._run import Curves, Run, status
from ._stress import Stress, stress
from ._study import Comparison, Study, compare, study
from ._train import resume, train

__version__: str = _core.version
_NEED_GYMNASIUM = ("make", "make_vec", "wrap_noise")
__all__ = [
    "Comparison", "Curves", "Error", "Evaluation", "InputError", "Policy", "Run", "Stress", "Study", "algorithms",
    "compare", "evaluate", "fold_seed", "make", "make_vec", "resume", "status", "stress", "study", "tasks", "train", "wrap_noise",
]  # fmt: skip

# runs that train in other threads are saved before the interpreter ends
_atexit.register(_core.stop_all)

try:
    from . import envs as _envs
except ImportError as _missing:  # without Gymnasium
    _why = _missing

    def __getattr__(name: str) -> _Any:
        if name in _NEED_GYMNASIUM:
            raise ImportError(f"ovde.{name} needs Gymnasium: {_why}") from _why
        raise AttributeError(f"module 'ovde' has no attribute {name!r}")

else:
    from .envs import make, make_vec, wrap_noise

    _envs.register_tasks()
