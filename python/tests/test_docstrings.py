"""The examples in docstrings work."""

import doctest
import importlib
import os

import pytest

MODULES = [
    "ovde", "ovde._arguments", "ovde._evaluate", "ovde._gym", "ovde._progress", "ovde._run", "ovde._stress", "ovde._study",
    "ovde._train", "ovde._workers", "ovde.envs",
]  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, request, gymnasium, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    found = doctest.DocTestFinder().find(module, extraglobs={"getfixture": request.getfixturevalue})
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in found:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_there_are_examples(gymnasium):
    finder = doctest.DocTestFinder()
    count = sum(len(test.examples) for name in MODULES[1:] for test in finder.find(importlib.import_module(name)))
    assert count > 20
