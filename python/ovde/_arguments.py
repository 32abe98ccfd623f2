"""Arguments that the library would refuse without a name, or not at all."""

from __future__ import annotations

import operator
from typing import Any, Optional

from . import _core

LARGEST_SEED = 2**53 - 1  # as src/io/seeds.h has it


def _whole(value: Any) -> Optional[int]:
    """Python's and NumPy's whole numbers; not True, not 1.7."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def count(name: str, value: Any) -> int:
    """How many threads, jobs or workers there are to be.

    >>> count("threads", -1)
    Traceback (most recent call last):
    ovde._core.InputError: threads=-1: must be a whole number, at least 0
    """
    number = _whole(value)
    if number is None or number < 0:
        raise _core.InputError(f"{name}={value!r}: must be a whole number, at least 0")
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
                f"seed {seed!r}: must be a whole number from 0 to {LARGEST_SEED}; several are a list, or range(4)"
            )
        numbers.append(number)
    return numbers
