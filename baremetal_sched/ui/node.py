"""/nodes/{node}: one machine: its facts, whether it is on offer and why not, and its history."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from flask import Response
from sqlalchemy import Row, func, select
from sqlalchemy.orm import Session

from baremetal_sched import commands
from baremetal_sched.baremetal.api.authorization import access
from baremetal_sched.baremetal.api.hold_readers import reader
from baremetal_sched.baremetal.api.nodes.nodes import whole_text
from baremetal_sched.baremetal.api.policies.domains import sees_domains
from baremetal_sched.baremetal.api.resources.hold_actors import actor_of
from baremetal_sched.baremetal.domains import domain_list
from baremetal_sched.baremetal.holds import guards, rules
from baremetal_sched.baremetal.matching.node_explanation import CLAIMED, NodeExplanation
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.nodes.redaction import REPLACEMENTS
from baremetal_sched.baremetal.provisioning import completion
from baremetal_sched.compute.api.policies import name_of
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Hold, Node, NodeHistory
from baremetal_sched.errors import NotAllowed, WrongScope
from baremetal_sched.masking import mask
from baremetal_sched.placement import events
from baremetal_sched.scheduling.api.node_explanations import explain_to
from baremetal_sched.scheduling.api.policies import ALL_EVENTS, DELETE_CLAIM, NODE_AVAILABILITY, SHOW_WORKERS
from baremetal_sched.scheduling.events import reading
from baremetal_sched.scheduling.events.reading import Event
from baremetal_sched.ui import node_actions
from baremetal_sched.ui.actions import is_allowed
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.node_actions import Proposal
from baremetal_sched.ui.rendering import page
from baremetal_sched.web.policy import Target

#: The number of events on the page, the newest, and the most characters of each.
MOST_EVENTS = 25
LONGEST_EVENT = 500

#: The number of claims and releases on the page, and the types of their events.
MOST_HOLDERS = 10
_HOLDING = (events.MACHINE_CLAIMED.name, events.MACHINE_RELEASED.name)

SEE_HISTORY = "baremetal:node:history:get"
_SEE_INVENTORY = "baremetal:node:inventory:get"
#: The rule of operators, for the commands of remedies that are none of the actions of the page.
_OPERATE = "baremetal:node:create"

_FACTS = (
    ("Name", "name"),
    ("UUID", "uuid"),
    ("Description", "description"),
    ("Resource class", "resource_class"),
    ("Conductor group", "conductor_group"),
    ("Driver", "driver"),
    ("Owner", "owner"),
    ("Lessee", "lessee"),
    ("Shard", "shard"),
    ("Parent node", "parent_node"),
    ("Health", "health"),
    ("Last error", "last_error"),
    ("Instance", "instance_uuid"),
    ("Instance name", "instance_name"),
    ("Allocation", "allocation_uuid"),
)

#: Facts by which the list of nodes can be filtered.
_LINKED = ("resource_class", "driver", "owner", "lessee", "shard")

#: Facts that are shown even if they are empty.
_ALWAYS = frozenset({"resource_class", "conductor_group", "owner", "instance_uuid"})


#: Objects with arbitrary contents of operators.
_DOCUMENTS = (("Properties", "properties"), ("Extra", "extra"))


_HIDDEN = "not shown to you"


@dataclass(frozen=True)
class _Seen:
    """A node as its page needs it: as an entity, as the API shows it to the caller, and as a target of rules."""

    entity: Node
    document: Mapping[str, Any]
    target: Target


def show_node(call: UiCall, session: Session, ident: str) -> Response:
    """GET /nodes/{node}. Raises NodeNotFound, also for a node that the caller may not see."""
    call.refuse_query()
    ident = call.node_ident(ident)
    entity = nodes.find(session, ident)
    target = access.seen(call, entity, ident)
    membership = call.membership(session)
    seen = _Seen(entity, json.loads(whole_text(call, session, entity.uuid, membership)), target)
    names_conductors = call.allows(SHOW_WORKERS, target)
    explanation: NodeExplanation | None = None
    if call.allows(NODE_AVAILABILITY, target):
        explanation = explain_to(call, session, entity, membership, names_others=names_conductors)
    sees_history = call.allows(SEE_HISTORY, target)
    holds = explanation.holds if explanation is not None else _holds(call, session, entity)
    parts = node_actions.parts_of(session, entity, with_ports=_sees_ports(call, entity))
    proposals = list(node_actions.possible(entity, holds))
    claims = [use for use in parts.uses if use.claim]
    given_back = {use.claim for use in claims if call.allows(DELETE_CLAIM, {"project_id": use.project})}
    return page(
        call,
        "node.html",
        node=seen.document,
        facts=list(_facts(seen.document)),
        linked=_LINKED,
        domains=domain_list.of_nodes(session, [entity.uuid]).get(entity.uuid, {}) if sees_domains(call) else {},
        conductor=seen.document["conductor"] if names_conductors else None,
        names_conductors=names_conductors,
        times=[
            ("Enrolled", entity.created_at),
            ("Changed", entity.updated_at),
            ("In its state since", entity.provision_updated_at),
        ],
        parts=parts,
        shows_inventory=parts.has_inventory and call.allows(_SEE_INVENTORY, target),
        named={use.consumer for use in parts.uses if names_conductors or use.project == call.caller.project_id},
        given_back=given_back,
        links_allocation=call.allows("baremetal:allocation:list"),
        links_server=_sees_server(call, parts.server_project),
        controller=_controller(seen.document),
        handle=commands.called(entity.name, entity.uuid),
        actions=[each for each in proposals if _is_allowed(call, entity, each)],
        remedies=_remedies(call, entity, explanation, proposals, gives_back=bool(given_back)) if explanation else {},
        is_reserved=entity.reservation is not None,
        pills=list(_pills(seen.document)),
        now=utcnow(),
        since_when=entity.provision_updated_at or entity.created_at,
        last_error=_last_error(seen.document),
        explanation=explanation,
        history=_events(call, session, entity) if sees_history else None,
        most_events=MOST_EVENTS,
        takes_time=completion.takes_time,
        holders=_holders(session, entity.uuid) if _sees_holders(call) else [],
        documents=[(label, _written(seen.document[name])) for label, name in _DOCUMENTS if seen.document[name]],
    )


def _facts(document: Mapping[str, Any]) -> Iterator[tuple[str, str, str | None]]:
    """Names of fields, labels and texts."""
    for label, name in _FACTS:
        value = _HIDDEN if _is_hidden(document, name) else document[name]
        if value or name in _ALWAYS:
            yield name, label, value


def _last_error(document: Mapping[str, Any]) -> str | None:
    """The last error, which the page begins with; None if there is none, or the caller may not see it."""
    error: str | None = document["last_error"]
    return None if _is_hidden(document, "last_error") else error


def _is_hidden(document: Mapping[str, Any], name: str) -> bool:
    """Return whether the caller sees only that the node has such a field."""
    return name in REPLACEMENTS and document[name] == REPLACEMENTS[name]


def _pills(document: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """A line about the node: label, words, and the kind of the chip."""
    power = document["power_state"]
    yield "Power", power or "unknown", "plain" if power else "warn"
    for label, name, kind in (
        ("Maintenance", "maintenance", "warn"),
        ("Retired", "retired", "warn"),
        ("Protected", "protected", "plain"),
    ):
        if document[name]:
            reason = f"{name}_reason"
            yield label, _HIDDEN if _is_hidden(document, reason) else document[reason] or "no reason given", kind
    if document["fault"]:
        yield "Fault", document["fault"], "bad"


def _controller(document: Mapping[str, Any]) -> list[str]:
    """The addresses of the node's management controller, if the caller may see them."""
    info = document["driver_info"]
    if not isinstance(info, dict):
        return []
    return [value for name, value in sorted(info.items()) if name.endswith("_address") and isinstance(value, str)]


def _sees_ports(call: UiCall, node: Node) -> bool:
    try:
        visible = call.listed("port")
    except (NotAllowed, WrongScope):
        return False
    return visible.covers(node.owner, node.lessee)


def _sees_server(call: UiCall, project: str | None) -> bool:
    """Return whether the caller may list the server on the node, which belongs to ``project``."""
    allowed = call.compute.allows(name_of("servers", "index"))
    return project is not None and allowed and call.compute.viewer in (None, project)


def _holds(call: UiCall, session: Session, node: Node) -> list[Hold]:
    return [hold for hold in guards.of_node(session, node) if reader(call).sees(node.owner, node.lessee, hold)]


def _holders(session: Session, node: str) -> list[tuple[datetime, Event]]:
    """Return the last claims and releases of the node, the last one first, with their times."""
    found = reading.latest_of(session, node, _HOLDING, MOST_HOLDERS)
    return [(datetime.fromtimestamp(event.at, UTC).replace(tzinfo=None), event) for event in found]


def _sees_holders(call: UiCall) -> bool:
    """Return whether the caller sees the consumers of all projects that had the node."""
    return call.allows(ALL_EVENTS) and call.allows(SHOW_WORKERS)


def _is_allowed(call: UiCall, node: Node, proposal: Proposal) -> bool:
    """Return whether the caller may do it, as the API decides it for the same rule."""
    if proposal.hold is None:
        return is_allowed(call, proposal.action, node.owner, node.lessee)
    return rules.refusal(actor_of(call, node.owner, node.lessee), proposal.hold) is None


def _remedies(
    call: UiCall, node: Node, explanation: NodeExplanation, proposals: Iterable[Proposal], *, gives_back: bool
) -> dict[str, str]:
    """Return the remedies of an explanation by its findings' reasons, without commands that policy does not allow the
    caller. ``gives_back``: whether the page offers to give back what has the machine."""
    may = {each.command: _is_allowed(call, node, each) for each in proposals}
    operates, remedies = call.allows(_OPERATE), {}
    for each in (*explanation.reasons, *explanation.remarks):
        sentence, _, command = each.remedy.partition("\n")
        remedies[each.reason] = each.remedy
        if each.label == CLAIMED and gives_back:
            remedies[each.reason] = "Give it back when it is no longer needed."
        elif command and not may.get(command, operates):
            remedies[each.reason] = f"{sentence} ask an operator, as policy does not let you do it."
    return remedies


def _events(call: UiCall, session: Session, node: Node) -> list[Row[Any]]:
    """The newest events of the node's history that the caller may see, the newest first."""
    event = func.substr(NodeHistory.event, 1, LONGEST_EVENT + 1).label("event")
    columns = (
        NodeHistory.created_at,
        NodeHistory.duration_seconds,
        NodeHistory.severity,
        NodeHistory.event_type,
        NodeHistory.state,
    )
    query = select(*columns, NodeHistory.conductor, NodeHistory.user, event)
    query = query.where(NodeHistory.node_id == node.id, *reader(call).of_history(node.owner, node.lessee))
    return list(session.execute(query.order_by(NodeHistory.id.desc()).limit(MOST_EVENTS)))


def _written(document: Any) -> str:
    """JSON as people read it, without secrets."""
    return json.dumps(mask(document), indent=2, sort_keys=True, ensure_ascii=False)
