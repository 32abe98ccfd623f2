"""Checks of arguments, with messages that name the argument."""

from __future__ import annotations

import operator
from typing import Any, Mapping, Optional

from . import _core

LARGEST_SEED = 2**53 - 1  # kLargestSeed of src/io/seeds.h

# words of other libraries, and what to use here
ANSWERS = {
    "env": "the environment is the first argument",
    "env_id": "the environment is the first argument",
    "cuda": "use device='cuda' or device='cpu'",
    "verbose": "use progress=True or progress=False",
    "tensorboard_log": "every run writes a TensorBoard event file: tensorboard --logdir runs",
    "track": "every run writes a TensorBoard event file: tensorboard --logdir runs",
    "save_model": "every run saves its policy: run.policy()",
}
STEPS = ("steps", "total_timesteps", "n_timesteps", "timesteps")


def _whole(value: Any) -> Optional[int]:
    """Whole numbers of Python and NumPy; not True, not 1.7."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def count(name: str, value: Any, lowest: int = 0) -> int:
    """A number of threads, jobs, workers or epochs.

    >>> count("threads", -1)
    Traceback (most recent call last):
    ovde._core.InputError: threads=-1: must be a whole number, at least 0
    """
    number = _whole(value)
    if number is None or number < lowest:
        raise _core.InputError(f"{name}={value!r}: must be a whole number, at least {lowest}")
    return number


def seed_list(seeds: Any) -> list[int]:
    """One seed or several, as a list.

    >>> seed_list(7), seed_list(range(3))
    ([7], [0, 1, 2])
    """
    try:
        given = [seeds] if isinstance(seeds, str) else list(seeds)
    except TypeError:
        given = [seeds]
    if not given:
        raise _core.InputError("0 seeds: must be at least 1")
    numbers = []
    for seed in given:
        number = _whole(seed)
        if number is None or not 0 <= number <= LARGEST_SEED:
            raise _core.InputError(
                f"seed {seed!r}: must be a whole number from 0 to {LARGEST_SEED}; several seeds are a list or range(4)"
            )
        numbers.append(number)
    return numbers


def settings_of(words: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments as settings: tables of docs/config.md, and words of other libraries (docs/words.md).

    >>> settings_of({"explore": {"alpha": 0.1}, "gamma": 0.98})
    {'explore.alpha': 0.1, 'train.discount': 0.98}
    """
    tables = _core.table_names()
    settings: dict[str, Any] = {}

    def add(key: str, value: Any) -> None:
        if settings.setdefault(key, value) is not value:
            raise _core.InputError(f"{key} is given twice: {settings[key]!r} and {value!r}")

    for word, value in words.items():
        key, answer = _core.synonym(word) or ("", ANSWERS.get(word, ""))
        if answer:
            raise _core.InputError(f"{word}={value!r}: {answer}")
        if key:
            add(key, value)
        elif isinstance(value, Mapping):
            for name, item in value.items():
                add(f"{word}.{name}", item)
        elif word in tables:
            raise _core.InputError(f"{word}={value!r}: must be a dict of keys, such as explore={{'alpha': 0.1}}")
        else:
            raise _core.InputError(f"unknown argument {word}={value!r}; tables of settings are {', '.join(tables)}")
    return settings


def take_steps(words: dict[str, Any], epochs: Any) -> Optional[int]:
    """Removes `steps`, or the word of another library for it, and checks that `epochs` is not given too."""
    given = [word for word in STEPS if words.get(word) is not None]
    if len(given) + (epochs is not None) > 1:
        raise _core.InputError(f"{' and '.join(given + ['epochs'] * (epochs is not None))}: give one of them")
    steps = count(given[0], words[given[0]], 1) if given else None
    for word in STEPS:
        words.pop(word, None)
    return steps
