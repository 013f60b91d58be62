"""The ``openstack`` command many times over, each time forked from one process that has loaded it already.

That spares most of what a command costs. Each has a process of its own nevertheless, and a standard input that is no
terminal: there is nothing in it.
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.clients.openstack import OpenStack
from tests.clients.suites.run import fork_openstack, hurry, load_openstack

ROOT = Path(__file__).parents[2]


class ForkedOpenStack(OpenStack):
    """The command with the given environment, and no other."""

    def __init__(self, process: subprocess.Popen[str], home: Path) -> None:
        super().__init__(home, {})
        self._process = process

    def __call__(self, command: str, *options: str) -> Any:
        done = self.run([*options, *shlex.split(command)])
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if "-f json" in command else None

    def batch(self, *commands: str) -> list[Any]:
        """Run commands; returns the values of commands that print JSON."""
        values = [self(command) for command in commands]
        return [value for command, value in zip(commands, values, strict=True) if "-f json" in command]

    def run(self, arguments: list[str], lines: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run the command with ``arguments``, whatever comes of it."""
        assert lines is None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(arguments) + "\n")
        self._process.stdin.flush()
        status, printed, complaint = json.loads(self._process.stdout.readline())
        return subprocess.CompletedProcess(arguments, status, printed, complaint)


@contextmanager
def forked_openstack(
    home: Path, variables: dict[str, str], python: str | Path = sys.executable
) -> Iterator[ForkedOpenStack]:
    """The command, loaded once, of the environment that has ``python``."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "ignore",
        **variables,
    }
    process = subprocess.Popen(
        [python, "-m", "tests.clients.forked"],
        cwd=home,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield ForkedOpenStack(process, home)
        finally:
            process.stdin.close()  # type: ignore[union-attr]


def main() -> None:
    """Run the commands that standard input has, a JSON list of arguments a line; each answer is a line."""
    asked = os.fdopen(os.dup(0))
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    hurry()
    load_openstack()
    for line in asked:
        print(json.dumps(fork_openstack(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
