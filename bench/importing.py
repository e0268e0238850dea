"""How long an import takes, in processor time of a fresh process."""

import subprocess
import sys

PROGRAM = """
import sys, time
sys.modules["typing_extensions"] = None
began = time.process_time()
import {module}
print(time.process_time() - began)
"""


def import_seconds(module: str, runs: int = 5) -> float:
    """The least of some runs: what the import itself costs, whatever else the machine does."""
    command = [sys.executable, "-I", "-c", PROGRAM.format(module=module)]
    runs_made = (subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(runs))
    return min(float(run.stdout) for run in runs_made)
