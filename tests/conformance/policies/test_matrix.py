"""Every route of the bare metal API, as every caller, for every kind of node; Ironic's rules say what comes of it."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from tests.conformance.policies import differences, ours, world
from tests.conformance.policies.callers import CALLERS, SYSTEM_ADMIN, Caller
from tests.conformance.policies.cases import ALLOWED, FORBIDDEN, UNAUTHENTICATED, UNSEEN, Case, cases, refused

KNOWN = world.known()


def _resource(case: Case) -> str:
    parts = [part for part in case.route.path.split("/")[2:] if not part.startswith("<")]
    return "-".join(parts[:2]) or "root"


#: Tests take a resource each: nodes are by far the largest.
RESOURCES = {name: list(group) for name, group in groupby(sorted(cases(), key=_resource), key=_resource)}


@pytest.fixture(scope="session")
def world_file(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file that has the world."""
    path = tmp_path_factory.mktemp("world") / "world.sqlite"
    path.touch(mode=0o600)
    path.write_bytes(sqlite_template.read_bytes())
    ours.build(path)
    return path


@pytest.fixture
def service(world_file: Path, tmp_path: Path) -> Iterator[ours.Ours]:
    """Our service, where services have no elevated access."""
    yield from _serving(world_file, tmp_path, elevated=False)


@pytest.fixture
def elevated(world_file: Path, tmp_path: Path) -> Iterator[ours.Ours]:
    """Our service, where services have elevated access."""
    folder = tmp_path / "elevated"
    folder.mkdir()
    yield from _serving(world_file, folder, elevated=True)


def _serving(template: Path, folder: Path, *, elevated: bool) -> Iterator[ours.Ours]:
    service = ours.Ours(
        template,
        folder,
        Caller.headers,
        api={"auth_strategy": "noauth2"},
        DEFAULT={"rbac_service_role_elevated_access": elevated},
    )
    yield service
    service.close()


def outcome(case: Case, status: int) -> str:
    """Return what a status says of permission. What agents ask may not be found, by anyone."""
    refusals = {401: UNAUTHENTICATED, 403: FORBIDDEN} | ({} if case.route.public else {404: UNSEEN})
    return refusals.get(status, ALLOWED)


@pytest.mark.parametrize("resource", RESOURCES)
def test_every_caller_gets_what_the_rules_say(service: ours.Ours, elevated: ours.Ours, resource: str) -> None:
    wrong = []
    for case in RESOURCES[resource]:
        for kind in case.kinds:
            request = case.filled(KNOWN[kind])
            for caller in CALLERS:
                answer = (elevated if caller.elevated else service).send(request, caller)
                assert answer.status_code < 500, f"{case.name} {kind} {caller.name}: {answer.status} {answer.text}"
                found, expected = outcome(case, answer.status_code), differences.expected(case, caller, kind)
                if found != expected:
                    wrong.append(f"{case.name} ({kind}) as {caller.name}: {found}, not {expected}: {answer.text[:150]}")
    assert not wrong, f"{len(wrong)} of the answers:\n" + "\n".join(wrong)


def test_what_is_refused_to_everyone_needs_a_token_first(service: ours.Ours) -> None:
    anonymous = next(caller for caller in CALLERS if caller.is_anonymous)
    for case in refused():
        request = case.filled(KNOWN["owned"])
        assert (service.send(request, anonymous).status_code == 401) != case.route.public, case.name
        assert service.send(request, SYSTEM_ADMIN).status_code >= 400, case.name
