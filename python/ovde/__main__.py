"""The command-line program: python -m ovde status runs. It also reads runs on environments written in Python."""

import sys
from pathlib import Path

from . import _core, _run

for word in sys.argv[1:]:
    if Path(word).is_dir():
        _run.status(word)  # registers the tasks of the runs in it
sys.exit(_core.run_command(["ovde", *sys.argv[1:]]))
