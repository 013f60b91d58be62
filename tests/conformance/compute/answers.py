"""Answers of the compute API, and what Nova says of them: see ``nova_says.py``."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.service import Service

SCRIPT = Path(__file__).with_name("nova_says.py")

#: Members whose own members are up to the operator or the moment.
_FREE = {"extra_specs", "hosts"}


class Answers:
    """Answers of the service, with what they are to Nova. ``version`` is the minor part of the microversion."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.version = 1
        self.answers: list[dict[str, Any]] = []

    def ask(self, kind: str, method: str, path: str, body: Any = None, sample: str | None = None) -> Any:
        """Send a request; ``kind`` is ``module.schema``, such as ``flavors.show_response``. Return the document."""
        document = self._service.compute(method, path, body, version=f"2.{self.version}").json
        self.add(kind, document, sample)
        return document

    def delete(self, path: str) -> None:
        """Delete something; the answer has no body."""
        assert self._service.compute("DELETE", path, version=f"2.{self.version}", status=204).body == b""

    def add(self, kind: str, document: Any, sample: str | None = None) -> None:
        """Add a document that was answered."""
        module, _, schema = kind.partition(".")
        entry = {"module": module, "kind": schema, "version": self.version, "document": document, "sample": sample}
        self.answers.append(entry)

    def check(self, nova: str) -> None:
        """Assert that each fits Nova's schema, and has the members of the sample if it has one.

        ``nova`` is a Python that has Nova. It takes seconds to start, so ask for everything first.
        """
        for answer, said in zip(self.answers, says(nova, self.answers), strict=True):
            assert said["complaint"] is None, answer
            if said["sample"] is not None:
                assert members(answer["document"]) == members(said["sample"]), answer


def says(nova: str, answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [nova, SCRIPT], input=json.dumps(answers), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def members(document: Any, path: str = "") -> set[str]:
    """The paths of all members of a document; of a list, those of its items."""
    if isinstance(document, Mapping):
        below = [members(value, f"{path}.{name}") for name, value in document.items() if name not in _FREE]
        return {f"{path}.{name}" for name in document}.union(*below)
    if isinstance(document, list):
        return set().union(*(members(item, f"{path}[]") for item in document))
    return set()
