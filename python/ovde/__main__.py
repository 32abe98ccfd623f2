"""The command-line program, which reads the runs of Python's environments too: python -m ovde status runs"""

import sys
from pathlib import Path

from . import _core, _run

for word in sys.argv[1:]:
    if Path(word).is_dir():
        _run.status(word)  # makes the tasks of the runs below it known
sys.exit(_core.run_command(["ovde", *sys.argv[1:]]))
