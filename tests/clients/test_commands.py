"""Every command of the released client: ``commands.py`` as a test."""

import os
import subprocess
import sys


def test_every_command_of_the_client() -> None:
    """Each does what ``commands.txt`` says of it, and none is left out."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.clients.commands"],
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
