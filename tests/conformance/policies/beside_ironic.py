"""The same requests with the same tokens to a real Ironic and to us, both asking one Keystone.

``pytest -n 0 tests/conformance/policies/beside_ironic.py``, where ``IRONIC_PYTHON`` names a Python that has Ironic 39,
unless the benchmarks have installed one. It is not collected otherwise: it takes ten to twenty minutes. Statuses, which
things are in lists, and what is redacted must be equal; ``ROUTES`` is a regular expression for some of the requests.
A request that changes something changes nothing for the next one: both worlds are put back.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.clients.keystone.cloud import Keystone, keystone_in
from tests.conformance.policies import differences, ours, theirs, world
from tests.conformance.policies.callers import CALLERS, KINDS, Caller
from tests.conformance.policies.cases import Case, cases
from tests.conformance.policies.matrix import tokens
from tests.originals import ironic_python

KNOWN = world.known()
ROUTES = re.compile(os.environ.get("ROUTES", ""))


@pytest.fixture(scope="module")
def keystone(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keystone]:
    """The Keystone that both ask."""
    with keystone_in(pytestconfig, tmp_path_factory.mktemp("identity") / "keystone") as running:
        yield running


@pytest.mark.parametrize("elevated", [False, True], ids=["plain", "elevated"])
def test_beside_ironic(keystone: Keystone, elevated: bool, sqlite_template: Path, tmp_path: Path) -> None:
    python = ironic_python()
    assert python is not None, "IRONIC_PYTHON names no Python that has Ironic"

    headers, settings = tokens(keystone), keystone.settings()
    template = ours.build(sqlite_template, tmp_path / "template.sqlite", keystone.project_ids)
    (tmp_path / "ironic").mkdir()
    here = ours.Ours(template, tmp_path, headers, **settings, DEFAULT={"rbac_service_role_elevated_access": elevated})
    ironic = theirs.served(
        python,
        tmp_path / "ironic",
        headers,
        elevated=elevated,
        keystone={name: str(value) for name, value in settings["keystone_authtoken"].items()},
        projects=keystone.project_ids,
    )
    found = Comparison()
    with ironic as there:
        found.run(here, there, elevated)
    here.close()
    print(f"{found.answers} answers compared; errors of Ironic: {dict(found.defects)}")
    assert not found.differences, f"{len(found.differences)} answers:\n" + "\n".join(found.differences)


@dataclass
class Comparison:
    """The results of the requests: how many, which differ, and how often Ironic failed, by the name of the request."""

    answers: int = 0
    differences: list[str] = field(default_factory=list)
    defects: Counter[str] = field(default_factory=Counter)

    def run(self, here: ours.Ours, there: theirs.Theirs, elevated: bool) -> None:
        """Send the requests to both."""
        # Elevated access is for services alone.
        callers = [caller for caller in CALLERS if caller.elevated == elevated or caller.name == "red-service"]
        for case in filter(lambda each: ROUTES.search(each.name), cases()):
            for kind, caller in product(case.kinds, callers):
                self._compare(here, there, case, kind, caller)

    def _compare(self, here: ours.Ours, there: theirs.Theirs, case: Case, kind: str, caller: Caller) -> None:
        request = case.filled(KNOWN[kind])
        expected, found = there.send(request, caller), here.send(request, caller)
        self.answers += 1
        if differences.is_defect(case, expected.status_code, expected.text):
            self.defects[case.name] += 1
        elif (found.status_code, shown(found.text)) != (expected.status_code, shown(expected.text)):
            self.differences.append(
                f"{case.name} ({kind}) as {caller.name}\n"
                f"  there: {expected.status_code} {expected.text[:300]}\n"
                f"  here: {found.status_code} {found.text[:300]}"
            )


def shown(text: str) -> Any:
    """Return which nodes and other things of the world an answer has, and which of their fields are redacted."""
    try:
        document = json.loads(text)
    except ValueError:
        return None
    things = {world.uuid_of(kind, thing): f"{kind} {thing}" for kind in KINDS for thing in _THINGS}
    return sorted(_shown(document, things))


_THINGS = ("node", "port", "portgroup", "connector", "target", "allocation", "runbook", "event")


def _shown(document: Any, things: Mapping[str, str]) -> Iterator[str]:
    if isinstance(document, list):
        for each in document:
            yield from _shown(each, things)
    elif isinstance(document, dict):
        thing = things.get(document.get("uuid", ""))
        if thing is not None:
            redacted = sorted(f"{name}={value}" for name, value in document.items() if "**" in str(value))
            yield f"{thing} {redacted}"
        for name, each in document.items():
            if name not in ("links", "error_message"):
                yield from _shown(each, things)
