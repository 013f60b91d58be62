"""The matrix: every request as every caller, for every kind of node, sent to our service."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.clients.keystone.cloud import Keystone
from tests.conformance.policies import differences, ours, world
from tests.conformance.policies.callers import CALLERS, Caller
from tests.conformance.policies.cases import ALLOWED, FORBIDDEN, UNAUTHENTICATED, UNSEEN, Case, cases

KNOWN = world.known()


def _resource(case: Case) -> str:
    parts = [part for part in case.route.path.split("/")[2:] if not part.startswith("<")]
    return "-".join(parts[:2]) or "root"


#: Tests take a resource each: nodes are by far the largest.
RESOURCES = {name: list(group) for name, group in groupby(sorted(cases(), key=_resource), key=_resource)}


@dataclass(frozen=True)
class Services:
    """Our service with the world: where services have no elevated access (``plain``), and where they have."""

    plain: ours.Ours
    elevated: ours.Ours

    def wrong(self, resource: str) -> Iterator[str]:
        """Send the requests for a resource; return what did not come out as the rules say."""
        for case in RESOURCES[resource]:
            for kind in case.kinds:
                request = case.filled(KNOWN[kind])
                for caller in CALLERS:
                    answer = (self.elevated if caller.elevated else self.plain).send(request, caller)
                    what = f"{case.name} ({kind}) as {caller.name}"
                    assert answer.status_code < 500, f"{what}: {answer.status} {answer.text}"
                    found, expected = _outcome(case, answer.status_code), differences.expected(case, caller, kind)
                    if found != expected:
                        yield f"{what}: {found}, not {expected}: {answer.text[:150]}"


@contextmanager
def services(
    template: Path, folder: Path, headers: Callable[[Caller], Mapping[str, str]], **overrides: dict[str, Any]
) -> Iterator[Services]:
    """Our services over copies, in ``folder``, of a SQLite file that has the world.

    ``headers`` identify a caller. ``overrides``: settings of both, by group.
    """
    running = []
    for elevated in (False, True):
        own = folder / f"elevated-{elevated}"
        own.mkdir()
        running.append(
            ours.Ours(template, own, headers, **overrides, DEFAULT={"rbac_service_role_elevated_access": elevated})
        )
    yield Services(*running)
    for each in running:
        each.close()


def tokens(keystone: Keystone) -> Callable[[Caller], Mapping[str, str]]:
    """Return what makes the headers of callers who have tokens of this Keystone."""

    def headers(caller: Caller) -> Mapping[str, str]:
        return {} if caller.is_anonymous else {"X-Auth-Token": keystone.token(caller.person)}

    return headers


def _outcome(case: Case, status: int) -> str:
    # What a status says of permission. What agents ask may not be found, by anyone.
    refusals = {401: UNAUTHENTICATED, 403: FORBIDDEN} | ({} if case.route.public else {404: UNSEEN})
    return refusals.get(status, ALLOWED)
