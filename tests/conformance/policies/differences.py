"""Where the matrix differs from Ironic on purpose, each with its reason. Everything else must be equal."""

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
    """Return what must come of the request here."""
    for difference in DIFFERENCES:
        if case.name in difference.names and difference.applies(caller, kind):
            return difference.outcome
    return case.expected(caller, kind)


#: What Ironic says as an error of the server: of the scope of a rule, and of a name in the query string.
_DEFECTS = ("requires a scope of", "tuple index out of range")
#: What Ironic says to requests that work here.
_REFUSALS = {"GET /v1/nodes/management/indicators/<ident>": "Missing mandatory parameter: indicator"}


def is_defect(case: Case, status: int, text: str) -> bool:
    """Return whether what Ironic answered is a defect of it, so that it says nothing of permission.

    All of them are among the known differences of the reference.
    """
    if status == 500:
        return any(said in text for said in _DEFECTS)
    return status == 400 and case.name in _REFUSALS and _REFUSALS[case.name] in text
