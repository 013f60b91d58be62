"""/nodes/{node}: one machine: what it is, whether it is on offer and why not, and what happened to it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response
from sqlalchemy import Row, func, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.authorization import access
from baremetal_sched.baremetal.api.nodes.nodes import whole_text
from baremetal_sched.baremetal.matching.explanation import Explanation, explain
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.nodes.redaction import REPLACEMENTS
from baremetal_sched.db.models import Node, NodeHistory, Port
from baremetal_sched.errors import NotAllowed, WrongScope
from baremetal_sched.masking import mask
from baremetal_sched.scheduling.api.policies import NODE_AVAILABILITY, SHOW_WORKERS
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.rendering import page
from baremetal_sched.web.policy import Target

#: The number of events on the page, the newest, and the most characters of each.
MOST_EVENTS = 25
LONGEST_EVENT = 500

SEE_HISTORY = "baremetal:node:history:get"

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
    ("Fault", "fault"),
    ("Last error", "last_error"),
    ("Maintenance reason", "maintenance_reason"),
    ("Protected", "protected_reason"),
    ("Retired", "retired_reason"),
    ("Instance", "instance_uuid"),
    ("Instance name", "instance_name"),
    ("Allocation", "allocation_uuid"),
)

#: Facts that are shown even if they are empty.
_ALWAYS = frozenset({"resource_class", "conductor_group", "owner", "instance_uuid"})

#: Objects with arbitrary contents of operators.
_DOCUMENTS = (("Properties", "properties"), ("Extra", "extra"))


@dataclass(frozen=True)
class _Seen:
    """A node with what its page needs: as an entity, as the API shows it to the caller, and as a target of rules."""

    entity: Node
    document: Mapping[str, Any]
    target: Target


def show_node(call: UiCall, session: Session, ident: str) -> Response:
    """GET /nodes/{node}. Raises NodeNotFound, also for a node that the caller may not see."""
    call.refuse_query()
    target = access.seen_node(call, session, ident)
    entity = nodes.find(session, ident)
    membership = call.membership(session)
    seen = _Seen(entity, json.loads(whole_text(call, session, entity.uuid, membership)), target)
    names_conductors = call.allows(SHOW_WORKERS, target)
    explanation: Explanation | None = None
    if call.allows(NODE_AVAILABILITY, target):
        explanation = explain(session, entity.uuid, membership, names_others=names_conductors)
    sees_history = call.allows(SEE_HISTORY, target)
    return page(
        call,
        "node.html",
        node=seen.document,
        facts=list(_facts(seen.document)),
        conductor=seen.document["conductor"] if names_conductors else None,
        names_conductors=names_conductors,
        times=[
            ("Enrolled", entity.created_at),
            ("Changed", entity.updated_at),
            ("In its state since", entity.provision_updated_at),
        ],
        ports=_port_count(call, session, entity),
        explanation=explanation,
        history=_events(session, entity) if sees_history else None,
        most_events=MOST_EVENTS,
        documents=[(label, _written(seen.document[name])) for label, name in _DOCUMENTS if seen.document[name]],
    )


def _facts(document: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Labels and texts. A flag whose reason is not given is said to be set."""
    for label, name in _FACTS:
        value = document[name]
        if name in REPLACEMENTS and value == REPLACEMENTS[name]:
            value = "not shown to you"
        flag = name.removesuffix("_reason")
        if flag != name and document[flag]:
            value = value or "no reason given"
        if value or name in _ALWAYS:
            yield label, value


def _port_count(call: UiCall, session: Session, node: Node) -> int | None:
    """How many ports the node has; None if the caller may not list them."""
    try:
        visible = call.listed("port")
    except (NotAllowed, WrongScope):
        return None
    if not visible.covers(node.owner, node.lessee):
        return None
    return session.scalar(select(func.count()).where(Port.node_id == node.id))


def _events(session: Session, node: Node) -> list[Row[Any]]:
    """The newest events of the node's history, the newest first."""
    event = func.substr(NodeHistory.event, 1, LONGEST_EVENT + 1).label("event")
    columns = (NodeHistory.created_at, NodeHistory.severity, NodeHistory.event_type, NodeHistory.state)
    query = select(*columns, NodeHistory.conductor, NodeHistory.user, event).where(NodeHistory.node_id == node.id)
    return list(session.execute(query.order_by(NodeHistory.id.desc()).limit(MOST_EVENTS)))


def _written(document: Any) -> str:
    """JSON as people read it, without secrets."""
    return json.dumps(mask(document), indent=2, sort_keys=True, ensure_ascii=False)
