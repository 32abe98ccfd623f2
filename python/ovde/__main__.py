"""The command-line program: python -m ovde status runs. It also reads runs on environments written in Python."""

import sys
from pathlib import Path

from . import _core, _run

# registers the tasks of the runs that the command reads
for word in sys.argv[1:]:
    if Path(word).is_dir():
        _run.status(word)
    elif Path(word).is_file():
        _run._know_task(Path(word).parent)
sys.exit(_core.run_command(["ovde", *sys.argv[1:]]))
