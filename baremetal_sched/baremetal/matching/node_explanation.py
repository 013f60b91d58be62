"""Why a node is offered or not: in sentences for operators, and in numbers for the fleet."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import case, exists, func, select, true
from sqlalchemy.orm import Session

from baremetal_sched import commands
from baremetal_sched.baremetal.bookings.next_booking import NextBooking, next_of
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.holds import guards, holds, rules
from baremetal_sched.baremetal.holds.rules import EVERYTHING, HoldView
from baremetal_sched.baremetal.nodes import shared_machines
from baremetal_sched.baremetal.provider import advice, availability, reconciliation
from baremetal_sched.db.clock import in_words
from baremetal_sched.db.models import Hold, Node
from baremetal_sched.machines import states
from baremetal_sched.placement import indivisible
from baremetal_sched.placement.names import resource_class_of

#: The conditions by which available machines are counted. The other conditions mean that a machine is in use, or on its
#: way.
_COUNTED = ("parent node", "maintenance", "power state")


#: The label of what a consumer in placement has.
CLAIMED = "allocation in placement"

_HIDDEN = "Ask an operator: you may not see why."


@dataclass(frozen=True)
class Finding:
    """A fact about a machine: ``label`` for programs, the reason, and the remedy."""

    label: str
    reason: str
    remedy: str


@dataclass(frozen=True)
class NodeExplanation:
    """Whether a machine is offered. ``reasons`` say why not; ``remarks`` are other facts that keep it from use.
    ``holds``: those of the node that are told. ``booking``: the one that keeps it now, or next."""

    uuid: str
    name: str | None
    resource_class: str | None
    reasons: list[Finding]
    remarks: list[Finding]
    holds: Sequence[Hold] = ()
    booking: NextBooking | None = None

    @property
    def is_offered(self) -> bool:
        """Return whether placement offers the machine."""
        return not self.reasons


def explain(
    session: Session,
    node: Node,
    membership: Membership,
    *,
    names_others: bool = True,
    view: HoldView = EVERYTHING,
    sees_booking: Callable[[str], bool] = lambda project: True,
) -> NodeExplanation:
    """Explain whether the node is offered.

    ``names_others``: whether consumers in placement, and the conductor that works on it, are named. ``view``: which of
    its holds are told by type, reason and person; of the others it is said that there are some. ``sees_booking``
    returns whether bookings of a project are named.
    """
    class_name = resource_class_of(node.resource_class) if node.resource_class else None
    node_holds = guards.of_node(session, node)
    reasons, planned = _held_by(session, node, node_holds, view)
    booking = next_of(session, node)
    reasons += [*_claims(session, node, names_others), *_booked(booking, sees_booking), *_drift(session, node)]
    remarks = [*_remarks(session, node, membership, names_others), *planned]
    seen = [hold for hold in node_holds if view.sees(hold)]
    return NodeExplanation(node.uuid, node.name, class_name, reasons, remarks, seen, booking)


def withheld_by(node: Node) -> list[Finding]:
    """Return the reasons on the node itself that keep it from being offered; empty if there are none."""
    found = [] if node.resource_class else [_without_class(node)]
    unmet = availability.unmet(node)
    if advice.is_in_use(node):  # that its state is not 'available' says no more
        unmet = [each for each in unmet if each.label != "provision state"]
    return found + [Finding(each.label, each.explain(node), advice.remedy(each.column.key, node)) for each in unmet]


def _held_by(
    session: Session, node: Node, node_holds: Sequence[Hold], view: HoldView
) -> tuple[list[Finding], list[Finding]]:
    """Return the reasons of ``withheld_by``, with the node's holds one by one, also the ones that wait until the node
    rests; and remarks about planned holds, and about the time at which the last present hold ends."""
    reasons, remarks = withheld_by(node), []
    now = holds.now(session) if node_holds else 0.0
    started = [hold for hold in node_holds if rules.is_active(hold) or rules.start_of(hold) <= now]
    if not rules.is_plain(started):
        reasons = [each for each in reasons if each.label != "maintenance"]
    if not rules.is_plain(started) or any(not rules.is_active(hold) for hold in started):
        reasons += [
            _of_hold(node, hold, "It is held" if rules.is_active(hold) else "It is kept free", view) for hold in started
        ]
        ends = max(rules.end_of(hold) for hold in started)
        if ends < math.inf:
            reason = f"The last of these holds ends at {in_words(ends)}."
            remarks.append(Finding("hold", reason, "Nothing needs to be done: the machine comes back by itself."))
    planned = sorted((hold for hold in node_holds if hold not in started), key=rules.start_of)
    return reasons, remarks + [_of_hold(node, hold, "A hold is planned", view) for hold in planned]


def _of_hold(node: Node, hold: Hold, what: str, view: HoldView) -> Finding:
    times = f"from {in_words(hold.asserted_at if hold.starts_at is None else hold.starts_at)}"
    times += "" if hold.ends_at is None else f" until {in_words(hold.ends_at)}"
    if not view.sees(hold):
        return Finding("hold", f"{what} by the {hold.scope} {times}.", _HIDDEN)
    text = f" ({hold.reason})" if hold.reason else ""
    command = commands.RELEASE_HOLD.of(node=commands.called(node.name, node.uuid), hold=hold.uuid)
    person = rules.person_of(hold) if view.names(hold) else ""
    who = f"{person} ({hold.scope})" if person else f"the {hold.scope}"
    reason = f"{what} by {who} {times}: {hold.type.replace('_', ' ')}{text}."
    return Finding("hold", reason, f"Release it:\n{command}")


def _without_class(node: Node) -> Finding:
    command = commands.SET_CLASS.of(node=commands.called(node.name, node.uuid))
    reason = "It has no resource class, so no request can ask for it."
    return Finding(availability.RESOURCE_CLASS, reason, f"Set one:\n{command}")


def _claims(session: Session, node: Node, names_others: bool) -> Iterator[Finding]:
    consumers = indivisible.consumers_beside(session, node.uuid)
    if node.allocation_uuid is not None and node.allocation_uuid not in consumers and node.resource_class:
        yield Finding(
            "allocation",
            f"Its allocation {node.allocation_uuid} is active, but its claim in placement was deleted there.",
            f"Delete it:\n{commands.DELETE_ALLOCATION.of(uuid=node.allocation_uuid)}",
        )
    if consumers and list(consumers) != [node.instance_uuid]:
        who = f"consumer {', '.join(consumers)}" if names_others else "a consumer in placement"
        reason = f"Its resource provider, or one below that, is claimed by {who}."
        yield Finding(CLAIMED, reason, _to_give_back(consumers, names_others))


def _to_give_back(consumers: Mapping[str, str | None], names_others: bool) -> str:
    """Return what ends the use by the first of the consumers, which are given with their claims."""
    consumer, claim = next(iter(consumers.items()))
    if claim is None:
        command = commands.DELETE_ALLOCATIONS.of(consumer=consumer if names_others else "CONSUMER")
        return f"Wait until the consumer releases it. If the claim is unused, delete it:\n{command}"
    command = commands.CANCEL_CLAIM.of(uuid=claim if names_others else "CLAIM")
    return f"Wait until the claim is given back. If it is unused, give it back:\n{command}"


def _booked(booking: NextBooking | None, sees_booking: Callable[[str], bool]) -> Iterator[Finding]:
    if booking is None:
        return
    if booking.project is None:
        reason = f"It is kept for a request that waits for several machines, {booking.words()}."
    else:
        name = f" for {booking.label}" if sees_booking(booking.project) else ""
        reason = f"It is booked{name} {booking.words()}."
    if booking.has_begun:
        yield Finding(availability.BOOKED, reason, "The project that booked it can claim it until then.")
    else:
        yield Finding(availability.BOOKED, reason, "It can be claimed until then: give the claim an end.")


def _drift(session: Session, node: Node) -> Iterator[Finding]:
    """SELECT EXISTS (SELECT … FROM nodes WHERE id = :id AND <its provider differs from the node>)"""
    if session.scalar(select(exists().where(Node.id == node.id, reconciliation.drifted(session, node)))):
        yield Finding(
            "resource provider",
            "Its resource provider was changed directly and differs from the node.",
            "A conductor undoes that unless the provider is claimed. This lists the differences:\n"
            + commands.CHECK_DATABASE,
        )


def _remarks(session: Session, node: Node, membership: Membership, names_others: bool) -> Iterator[Finding]:
    if node.reservation is not None:
        who = f"Conductor {node.reservation}" if names_others else "A conductor"
        yield Finding(
            "lock",
            f"{who} is working on it: allocations of the bare metal API pass it over.",
            "Wait until the conductor has finished.",
        )
    shared = shared_machines.warning(shared_machines.others(session, node), names_others=names_others)
    if shared is not None:
        yield Finding("machine", f"Its {shared}", "Delete all of these nodes but one, or correct their driver_info.")
    if membership.owner(node.uuid, node.conductor_group, node.driver) is None:
        group = f"conductor group '{node.conductor_group}'" if node.conductor_group else "the default conductor group"
        yield Finding(
            "conductor",
            f"No live conductor serves driver {node.driver} in {group}: nothing can be done with the machine.",
            "Start a conductor there with the driver in [DEFAULT] enabled_hardware_types, or change the node's "
            "conductor_group.",
        )
    if node.retired:
        yield Finding(
            "retired",
            "It is retired: after it is undeployed and cleaned, it does not become available again.",
            "Unset retired if the machine is to stay in use.",
        )


def count_withheld(session: Session) -> dict[str, int]:
    """Return how many available machines are not offered, by the first reason that an operator can correct.

    SELECT CASE WHEN <no class> THEN 'resource class' WHEN NOT <condition> THEN '<its label>' … END, count(*)
    FROM nodes WHERE provision_state = 'available' AND instance_uuid IS NULL GROUP BY 1
    """
    whens = [(availability.HAS_NO_CLASS, availability.RESOURCE_CLASS)]
    whens += [(each.clause.is_not(true()), each.label) for each in availability.CONDITIONS if each.label in _COUNTED]
    first = case(*whens).label("reason")
    inner = select(first).where(Node.provision_state == states.AVAILABLE, Node.instance_uuid.is_(None)).subquery()
    rows = session.execute(select(inner.c.reason, func.count()).group_by(inner.c.reason))
    found = {label: count for label, count in rows}
    return {label: found.get(label, 0) for label in (availability.RESOURCE_CLASS, *_COUNTED)}
