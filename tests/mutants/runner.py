"""Applies mutants to a copy of the project, one at a time, and runs the tests that must notice."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutant import Mutant

ROOT = Path(__file__).parents[2]
PACKAGE = "baremetal_sched"

#: What a copy has of the project.
_COPIED = (PACKAGE, "migrations", "tests", "pyproject.toml", "alembic.ini", "README.md")

#: A mutant under which the tests take longer, in seconds, makes them hang.
_TIMEOUT = 300

#: What follows the test's name is why it failed. The name may have blanks in it, among its parameters.
_FAILED = re.compile(r"^(?:FAILED|ERROR) tests/(\S+::.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Verdict:
    """The result of a mutant, in words, and the test that noticed it, if one did."""

    mutant: Mutant
    words: str
    test: str | None = None


class Copy:
    """A copy of the project in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in _COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name)
            else:
                shutil.copy2(source, folder / name)

    def judge(self, mutant: Mutant) -> Verdict:
        """Apply the mutant, run its tests, and take it back."""
        path = self._folder / PACKAGE / mutant.file
        original = path.read_text()
        count = original.count(mutant.text)
        if count != 1:
            return Verdict(mutant, f"OUT OF DATE: its text is in {mutant.file} {count} times, not once")
        try:
            _write(path, original.replace(mutant.text, mutant.replacement))
            status, output = self.run(mutant.tests.split(), mutant.server)
        finally:
            _write(path, original)
        if status is None:
            return Verdict(mutant, f"HANGS: {mutant.tests}")
        if status == 0:
            return Verdict(mutant, f"SURVIVED: {mutant.tests}")
        found = _FAILED.search(output)
        if status != 1 or found is None:
            return Verdict(mutant, f"BROKEN: {mutant.tests}\n{output}")
        return Verdict(mutant, f"noticed by {found[1]}", found[1])

    def run(self, tests: Iterable[str], server: str | None = None) -> tuple[int | None, str]:
        """Run tests until one fails. Returns the exit status, None if they do not end, and what pytest printed."""
        arguments = [f"tests/{each}" for each in tests]
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
        command += [f"--basetemp={self._folder / 'tmp'}", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(self._folder), "TEST_DATABASE_URLS": url_of(server) or ""}
        try:
            done = subprocess.run(
                command, cwd=self._folder, env=environment, capture_output=True, text=True, timeout=_TIMEOUT
            )
        except subprocess.TimeoutExpired:
            return None, ""
        return done.returncode, done.stdout + done.stderr


def url_of(server: str | None) -> str | None:
    """The URL in TEST_DATABASE_URLS of a database of this dialect, if there is one."""
    urls = os.environ.get("TEST_DATABASE_URLS", "").split()
    return next((url for url in urls if server is not None and url.startswith(server)), None)


def _write(path: Path, text: str) -> None:
    """Write a module, so that what was compiled of it before is not used."""
    path.write_text(text)
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()
