"""Fixtures: Gymnasium if it is installed, small runs, the command-line program."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ovde

SMALL = {"network": {"hidden": [16]}, "train": {"batch": 32, "warmup_steps": 60, "steps_per_epoch": 50, "eval_steps": 200}}


@pytest.fixture(scope="session")
def gymnasium():
    return pytest.importorskip("gymnasium", reason="Gymnasium is not installed (scripts/gymnasium fetches it)")


@pytest.fixture
def small():
    """Settings of a run that takes a fraction of a second."""
    return {table: dict(values) for table, values in SMALL.items()}


@pytest.fixture(scope="session")
def trained_run(tmp_path_factory):
    return ovde.train("GridChaos-v0:s", "dsac", seeds=[0, 1], epochs=3, out=tmp_path_factory.mktemp("run") / "x", **SMALL)


@pytest.fixture(scope="session")
def program():
    path = os.environ.get("OVDE_PROGRAM", "")
    if not Path(path).is_file():
        pytest.skip("OVDE_PROGRAM does not name the command-line program")
    return path


@pytest.fixture
def script(tmp_path):
    """Runs text as a script in a new process."""

    def run(text, timeout=60, **more):
        file = tmp_path / "script.py"
        file.write_text(text)
        return subprocess.run(
            [sys.executable, str(file)], capture_output=True, text=True, timeout=timeout, cwd=tmp_path, **more
        )

    return run
