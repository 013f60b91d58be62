"""The outcomes of tests of other projects that were run against the service."""

import json
import subprocess
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tests.processes import environment

RUN = Path(__file__).with_name("run.py")
SECONDS = 1200


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of the tests, see ``run.py``."""

    passed: list[str]
    failed: dict[str, str]
    skipped: dict[str, str]

    def check(self, number: int, may_fail: dict[str, str], skipped: int = 0) -> None:
        """Assert that ``number`` tests were run, and that all passed except the tests that may fail, which do.

        These are named by the end of their names: the method, or the class and the method. ``skipped`` tests skip
        themselves wherever they are run.
        """
        failed = {_known_as(name, may_fail): text for name, text in self.failed.items()}
        unexpected = {name: text for name, text in failed.items() if name not in may_fail}
        assert not unexpected, "\n".join(f"{name}\n{text}" for name, text in unexpected.items())
        assert set(failed) == set(may_fail)
        assert len(self.skipped) == skipped, self.skipped
        assert len(self.passed) + len(self.failed) == number


def _known_as(name: str, names: Collection[str]) -> str:
    """How a test is called in ``names``; its full name if it is not there."""
    return next((known for known in names if name.endswith(f".{known}")), name)


def run(python: Path | str, folder: Path, variables: dict[str, str], *names: str) -> Outcomes:
    """Run the tests of packages, modules or classes in ``folder``."""
    out = folder / "outcomes.json"
    done = subprocess.run(
        [python, RUN, out, *names],
        cwd=folder,
        env={**environment(), "HOME": str(folder), "PYTHONWARNINGS": "ignore", **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout
    return Outcomes(**json.loads(out.read_text()))
