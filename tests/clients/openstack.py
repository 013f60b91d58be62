"""The ``openstack`` command from PyPI, as people type it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: The command, which with ``--wait`` looks every tenth of a second what has become of a node, not every ten seconds.
_IMPATIENT = """
import sys
from ironicclient.common import utils
from openstackclient.shell import main

poll = utils.poll
utils.poll = lambda timeout, interval, *rest: poll(timeout, 0.1, *rest)
sys.argv[0] = "openstack"
sys.exit(main())
"""


class OpenStack:
    """The ``openstack`` command with the given environment, and no other. ``options`` come before every command."""

    def __init__(self, home: Path, variables: dict[str, str], *options: str) -> None:
        self._home = home
        self._options = options
        # PYTHONWARNINGS: what the clients' own libraries deprecate is not our business.
        self._environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONWARNINGS": "ignore", **variables}

    def __call__(self, command: str, *options: str) -> Any:
        """Run one command and return what it prints: the value of its JSON, or None."""
        done = self.run([*options, *command.split()])
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout else None

    def refused(self, command: str) -> str:
        """Run one command that fails, and return why."""
        done = self.run(command.split())
        assert done.returncode == 1, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr, done.stderr
        return done.stderr

    def batch(self, *commands: str) -> list[Any]:
        """Run commands in one process, which spares its start; returns the values of commands that print JSON."""
        done = self.run([], "\n".join(commands))
        assert not done.stderr, done.stderr
        values = list(_json_values(done.stdout))
        assert len(values) == sum("-f json" in command for command in commands), done.stdout
        return values

    def run(
        self, arguments: list[str], lines: str | None = None, stdin: int = subprocess.DEVNULL
    ) -> subprocess.CompletedProcess[str]:
        """Run the command with ``arguments``, whatever comes of it; ``lines`` are commands for its standard input,
        which is ``stdin`` otherwise."""
        return subprocess.run(
            [sys.executable, "-c", _IMPATIENT, *self._options, *arguments],
            cwd=self._home,
            env=self._environment,
            input=lines,
            stdin=stdin if lines is None else None,
            capture_output=True,
            text=True,
            timeout=120,
        )


def variables_in(printed: str) -> dict[str, str]:
    """The environment variables that ``serve`` told people to export."""
    variables = dict(re.findall(r"^\s*export (\w+)=(.*)$", printed, re.MULTILINE))
    assert variables
    return variables


def _json_values(text: str) -> Iterator[Any]:
    """The JSON lists and objects in ``text``, one after the other, with other lines between them."""
    decoder = json.JSONDecoder()
    position = 0
    while start := re.compile(r"^[\[{]", re.MULTILINE).search(text, position):
        value, position = decoder.raw_decode(text, start.start())
        yield value
