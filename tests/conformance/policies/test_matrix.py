"""Every route of the bare metal API, as every caller, for every kind of node; Ironic's rules say what comes of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.policies.callers import CALLERS, SYSTEM_ADMIN, Caller
from tests.conformance.policies.cases import refused
from tests.conformance.policies.matrix import KNOWN, RESOURCES, Services, services
from tests.conformance.policies.ours import build

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def world_file(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file that has the world."""
    return build(sqlite_template, tmp_path_factory.mktemp("world") / "world.sqlite")


@pytest.fixture
def both(world_file: Path, tmp_path: Path) -> Iterator[Services]:
    """Our services, which believe the headers that say who a caller is."""
    with services(world_file, tmp_path, Caller.headers, api={"auth_strategy": "noauth2"}) as running:
        yield running


@pytest.mark.parametrize("resource", RESOURCES)
def test_every_caller_gets_what_the_rules_say(both: Services, resource: str) -> None:
    wrong = list(both.wrong(resource))
    assert not wrong, f"{len(wrong)} of the answers:\n" + "\n".join(wrong)


def test_what_is_refused_to_everyone_needs_a_token_first(both: Services) -> None:
    anonymous = next(caller for caller in CALLERS if caller.is_anonymous)
    for case in refused():
        request = case.filled(KNOWN["owned"])
        assert (both.plain.send(request, anonymous).status_code == 401) != case.route.public, case.name
        assert both.plain.send(request, SYSTEM_ADMIN).status_code >= 400, case.name
