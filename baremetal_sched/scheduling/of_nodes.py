"""The conditions of a bare metal allocation, and of a server by flavor and image: both are about nodes."""

from sqlalchemy import ColumnElement

from baremetal_sched.baremetal import allocation_choice, availability
from baremetal_sched.baremetal.allocation_choice import Wanted
from baremetal_sched.baremetal.ownership import Membership
from baremetal_sched.compute import no_valid_host
from baremetal_sched.compute.host_choice import FOREIGN, HostRequest
from baremetal_sched.placement.candidates.query import CandidateRequest
from baremetal_sched.scheduling.masks import Condition
from baremetal_sched.scheduling.of_query import names_of
from baremetal_sched.scheduling.question import (
    Asker,
    Check,
    Names,
    Question,
    claim_check,
    conductor_check,
    lock_check,
    nodes_source,
    of_availability,
)

_OF_AVAILABILITY = {condition.label for condition in availability.CONDITIONS}


def of_allocation(wanted: Wanted, membership: Membership) -> Question:
    """Return the question which nodes an allocation can get. Locks count, as for the allocation; conductors do not."""
    asked, held = _split(allocation_choice.conditions(wanted))
    checks = [Check(_of_allocation(label, wanted), clause) for label, clause in asked.items()]
    traits = {name for entry in wanted.traits for name in entry.names}
    return Question(
        [*checks, *held, claim_check(), lock_check(counts=True), conductor_check(membership, counts=False)],
        nodes_source(),
        tuple(wanted.eligible.conditions()),
        Names([wanted.resource_class], sorted(traits), of_nodes=True),
    )


def of_server(wanted: HostRequest, request: CandidateRequest, membership: Membership, asker: Asker) -> Question:
    """Return the question which nodes a server can get. ``request`` is the query of ``wanted``.

    Amounts and traits are those of the tree of a node as a whole.
    """
    asked, held = _split(no_valid_host.conditions(wanted, request, membership))
    asked.pop(FOREIGN, None)
    asked.pop("conductor")
    checks = [Check(_of_server(label), clause) for label, clause in asked.items()]
    return Question(
        [*checks, *held, claim_check(), lock_check(counts=True), conductor_check(membership, counts=True)],
        nodes_source(),
        asker.usable(),
        names_of(request),
        capabilities=wanted.extra_specs,
    )


def _split(conditions: dict[str, ColumnElement[bool]]) -> tuple[dict[str, ColumnElement[bool]], list[Check]]:
    """What is asked for, and checks of the rule of availability. The rest is of ``question``, which says it so that a
    machine fails for its own reason only."""
    asked = {label: clause for label, clause in conditions.items() if label not in (*_OF_AVAILABILITY, *_OTHERS)}
    held = [Check(of_availability(label), clause) for label, clause in conditions.items() if label in _OF_AVAILABILITY]
    return asked, held


#: Labels of allocations, and of servers.
_OTHERS = ("allocation in placement", "claim", "lock")


def _of_allocation(label: str, wanted: Wanted) -> Condition:
    kind, _, name = label.partition(" ")
    match kind:
        case "resource":
            return Condition(f"class:{wanted.resource_class}", f"is of resource class {wanted.resource_class}")
        case "candidate":
            return Condition("candidate_nodes", "is one of the candidate nodes")
        case "trait":
            return _of_trait(name)
    return Condition(label, f"has the {label} that was asked for")


def _of_trait(entry: str) -> Condition:
    if entry.startswith("!"):
        return Condition(f"trait:{entry}", f"does not have {entry.removeprefix('!')}")
    several = [name.strip() for name in entry.removeprefix("in:").split(",")]
    kind = "in:" if entry.startswith("in:") else ""
    return Condition(f"trait:{kind}{','.join(several)}", f"has {' or '.join(several)}")


def _of_server(label: str) -> Condition:
    kind, _, name = label.partition(" ")
    match kind:
        case "class":
            return Condition(f"class:{name}", f"offers {name}")
        case "trait":
            return _of_trait(name)
        case "forbidden":
            return _of_trait(f"!{name}")
    return Condition(label, f"has the {label} that was asked for")
