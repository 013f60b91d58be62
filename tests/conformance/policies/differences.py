"""Where the matrix differs from Ironic on purpose, each with its reason. Everything else has to be equal."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.conformance.policies.callers import Caller
from tests.conformance.policies.cases import Case


@dataclass(frozen=True)
class Difference:
    """Requests of these names (see ``Case.name``) as these callers come to ``outcome`` here."""

    names: frozenset[str]
    applies: Callable[[Caller, str], bool]
    outcome: str
    reason: str


DIFFERENCES: tuple[Difference, ...] = ()


def expected(case: Case, caller: Caller, kind: str) -> str:
    """Return what has to come of the request here."""
    for difference in DIFFERENCES:
        if case.name in difference.names and difference.applies(caller, kind):
            return difference.outcome
    return case.expected(caller, kind)


def is_defect(case: Case, status: int, text: str) -> bool:
    """Return whether what Ironic answered is a defect of it, so that it says nothing of permission."""
    # The scope of a rule escapes as an error of the server, and so does a name that is in the query string.
    return status == 500
