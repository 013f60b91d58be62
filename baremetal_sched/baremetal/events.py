"""Events of nodes, allocations and holds, noted when a session flushes their change (see ``provider.projection``), so
that none can be forgotten.

Types are Ironic's where it has one. What changes a node without a session (its traits) notes it itself.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from sqlalchemy import inspect
from sqlalchemy.orm import Session
from sqlalchemy.orm.base import LoaderCallableStatus

from baremetal_sched.db.clock import in_words
from baremetal_sched.db.event_types import NODE_COLUMNS, OF_NODE, EventType
from baremetal_sched.db.models import Hold, Node, NodeAllocation
from baremetal_sched.db.notes import Notes, notes_of
from baremetal_sched.db.results import history_of
from baremetal_sched.db.types import Writer
from baremetal_sched.machines import states
from baremetal_sched.machines.interface_types import INTERFACE_TYPES
from baremetal_sched.masking import mask_text

_of_node = partial(EventType, subject="node", members=(*OF_NODE, "changed"))
_CREATED = _of_node("baremetal.node.create.end", "A node was enrolled.")
#: The type of changes of nodes that have none of their own.
NODE_UPDATED = _of_node(
    "baremetal.node.update.end", "Fields or traits have changed. A change of owner or lessee is two events."
)
_DELETED = EventType(
    "baremetal.node.delete.end",
    "A node was deleted, with its holds. The release of its machine is the event before.",
    "node",
    OF_NODE,
)
_MAINTENANCE_SET = _of_node("baremetal.node.maintenance_set.end", "Maintenance, its reason or the fault has changed.")
#: The type of changes of the domains that a node is in.
NODE_MOVED = _of_node("baremetal.node.domain_set.end", "The node was put into domains, or taken out of some.")
#: The types of changes of the provision state and of the power state, by Ironic's words.
_PROVISION_SET = {
    level: _of_node(f"baremetal.node.provision_set.{level}", sentence)
    for level, sentence in {
        "start": "Work on the provision state was requested.",
        "end": "The provision state has changed, on the way to the requested one.",
        "success": "The requested state is reached.",
        "error": "The work has failed: ``changed`` has ``last_error``.",
    }.items()
}
_POWER_SET = {
    word: _of_node(f"baremetal.node.{word}", sentence)
    for word, sentence in {
        "power_set.start": "Power is being switched.",
        "power_set.end": "Power was switched.",
        "power_set.error": "Power could not be switched.",
        "power_state_corrected.success": "The machine was found in another power state than the node had.",
    }.items()
}
#: The types of changes of an allocation, by its new state, or by what was done to it.
_OF_ALLOCATION = {
    what: EventType(f"baremetal.allocation.{words}", sentence, "allocation", ("allocation",))
    for what, words, sentence in (
        ("allocating", "create.start", "An allocation waits for a node."),
        ("active", "create.end", "An allocation has its node."),
        ("error", "create.error", "An allocation has failed."),
        ("updated", "update.end", "The name or the extra of an allocation has changed."),
        ("deleted", "delete.end", "An allocation was deleted."),
    )
}
_HELD = {
    what: EventType(f"scheduling.hold.{what}", sentence, "node", (*OF_NODE, "hold"))
    for what, sentence in {
        "asserted": "A hold of the node was asserted.",
        "begun": "A hold that was planned has begun.",
        "changed": "A hold has changed.",
        "released": "A hold was released.",
    }.items()
}
EVENT_TYPES = (
    *(_CREATED, NODE_UPDATED, _DELETED, *_PROVISION_SET.values(), *_POWER_SET.values(), _MAINTENANCE_SET, NODE_MOVED),
    *_OF_ALLOCATION.values(),
    *_HELD.values(),
)

_PROVISION, _POWER = "provision_state", "power_state"

#: The fields of nodes whose changes events tell, by the field that determines the type; None: any.
_FIELDS: Mapping[str, str | None] = {
    **dict.fromkeys(("provision_state", "target_provision_state"), _PROVISION),
    **dict.fromkeys(("power_state", "target_power_state"), _POWER),
    **dict.fromkeys(("maintenance", "maintenance_reason", "fault"), "maintenance"),
    **dict.fromkeys(
        (
            *("name", "description", "driver", "resource_class", "conductor_group", "owner", "lessee", "shard"),
            *("parent_node", "instance_uuid", "instance_name", "allocation_uuid", "last_error", "console_enabled"),
            *("protected", "protected_reason", "retired", "retired_reason", "automated_clean", "disable_power_off"),
            *("boot_mode", "secure_boot", "health", *(f"{kind}_interface" for kind in INTERFACE_TYPES)),
        )
    ),
}
#: Events tell only that these fields have changed, without values.
_UNTOLD = ("properties", "extra", "driver_info", "instance_info", "network_data", "raid_config", "target_raid_config")

_FAILED = frozenset(state for state in states.PROVISION_STATES if state.endswith(" failed")) | {states.ERROR}

#: The fields of holds that events tell.
_OF_HOLD = (
    *("uuid", "type", "reason", "scope", "asserted_by", "asserted_by_project", "asserted_at", "starts_at"),
    *("ends_at", "drain", "drain_deadline", "begun_at"),
)

Changes = dict[str, dict[str, Any]]


def note_flush(session: Session) -> None:
    """Note the events of what a flush writes: those of a node in the order of the changes, those of holds last."""
    for entity in sorted((*session.new, *session.dirty), key=lambda each: isinstance(each, Hold)):
        if isinstance(entity, Node):
            _note_node(session, entity)
        elif isinstance(entity, NodeAllocation):
            _note_allocation(session, entity)
        elif isinstance(entity, Hold):
            _note_flushed_hold(session, entity)
    for entity in session.deleted:
        if isinstance(entity, Hold):
            note_hold(session, entity, "released")
        elif isinstance(entity, NodeAllocation):
            _add_allocation(session, entity, "deleted")
        elif isinstance(entity, Node):
            notes = _add(session, _DELETED, entity.uuid, {}, node=view_of(entity))
            # Its history refers to it, and goes with it.
            notes.write(session.connection())


def _add(session: Session, *event: Any, **more: Any) -> Notes:
    """Note an event, and return the notes."""
    notes = notes_of(session)
    notes.add(*event, **more)
    return notes


# -- nodes -------------------------------------------------------------------------------------------------------------


def view_of(node: Node, **instead: object) -> dict[str, Any]:
    """Return what events say of a node: its UUID and NODE_COLUMNS; ``instead``: values of some of them."""
    known = {name: getattr(node, name) for name in NODE_COLUMNS} | instead
    known |= {"maintenance": bool(known["maintenance"]), "conductor_group": known["conductor_group"] or ""}
    return {"uuid": node.uuid, **known}


def note_changed(writer: Writer, node: str, changed: Changes, kind: EventType = NODE_UPDATED) -> None:
    """Note what has changed of a node (a UUID; its row locked) outside its columns: ``{NAME: {"before", "after"}}``."""
    notes_of(writer).add_of_machine(kind, node, {"changed": changed}, is_locked=True)


def _note_node(session: Session, node: Node) -> None:
    """Note what changes of a node. The owner or lessee who loses it hears that first, with the state before the other
    changes: it sees nothing of these, and not who gets the node."""
    changed = dict(_changes(node))
    if not changed:
        return
    if inspect(node).pending:
        _add(session, _CREATED, node.uuid, {"changed": changed}, node=view_of(node))
        return
    left = {
        name: changed[name]["before"] for name in ("owner", "lessee") if name in changed and changed[name]["before"]
    }
    if left:
        gone: Changes = {name: {"before": before, "after": None} for name, before in left.items()}
        former = {name: changed[name]["before"] for name in NODE_COLUMNS if name in changed}
        # The columns say who may see it, and the data is the state without them.
        told: dict[str, object] = {"changed": gone, **dict.fromkeys(left)}
        _add(session, NODE_UPDATED, node.uuid, told, node=view_of(node, **former))
        for name in left:
            after = changed.pop(name)["after"]
            if after is not None:
                changed[name] = {"before": None, "after": after}
    for kind, fields in _types(node, changed):
        _add(session, kind, node.uuid, {"changed": fields}, node=view_of(node))


def _changes(node: Node) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the fields whose values change, with both values."""
    state: Any = inspect(node)
    for name in state.committed_state:
        before, after = state.committed_state[name], getattr(node, name)
        is_new = isinstance(before, LoaderCallableStatus)
        if name in _FIELDS:
            before = None if is_new else before
            if name == "last_error":
                before, after = mask_text(before or "") or None, mask_text(after or "") or None
            if before != after:
                yield name, {"before": before, "after": after}
        elif name in _UNTOLD and (after if is_new else history_of(node, name).has_changes()):
            yield name, {}


def _types(node: Node, changed: Changes) -> Iterator[tuple[EventType, Changes]]:
    """Yield the types of the events of these changes, with the changes of each."""
    rest = dict(changed)
    if not rest.keys().isdisjoint(("provision_state", "target_provision_state")):
        rest = {name: rest[name] for name in rest if _FIELDS.get(name) in ("maintenance", _POWER)}
        of_state = {name: changed[name] for name in changed if name not in rest}
        yield _PROVISION_SET[_provision_level(node, of_state)], of_state
    of_power = {name: rest.pop(name) for name in [*rest] if _FIELDS.get(name) == _POWER}
    if of_power:
        if "last_error" in rest:
            of_power["last_error"] = rest.pop("last_error")
        yield _POWER_SET[_power_kind(node, of_power)], of_power
    of_maintenance = {name: rest.pop(name) for name in [*rest] if _FIELDS.get(name) == "maintenance"}
    if of_maintenance:
        yield _MAINTENANCE_SET, of_maintenance
    if rest:
        yield NODE_UPDATED, rest


def _provision_level(node: Node, changed: Changes) -> str:
    """Return Ironic's word for a change of the provision state or its target."""
    before = changed.get("target_provision_state", {"before": node.target_provision_state})["before"]
    if node.provision_state in _FAILED and _PROVISION in changed:
        return "error"
    if before is None and node.target_provision_state is not None:
        return "start"
    return "success" if before is not None and node.target_provision_state is None else "end"


def _power_kind(node: Node, changed: Changes) -> str:
    """Return Ironic's words for a change of the power state or its target."""
    if node.target_power_state is not None:
        return "power_set.start"
    if "target_power_state" in changed:
        return "power_set.error" if node.last_error else "power_set.end"
    # Without a target the machine was found so, or switched by a deployment.
    return "power_set.end" if node.target_provision_state is not None else "power_state_corrected.success"


# -- allocations -------------------------------------------------------------------------------------------------------


def _note_allocation(session: Session, allocation: NodeAllocation) -> None:
    if history_of(allocation, "state").has_changes():
        _add_allocation(session, allocation, allocation.state)
    elif any(history_of(allocation, name).has_changes() for name in ("name", "extra")):
        _add_allocation(session, allocation, "updated")


def _add_allocation(session: Session, allocation: NodeAllocation, what: str) -> None:
    told = ("uuid", "name", "state", "resource_class", "traits", "owner", "candidate_nodes")
    data = {name: getattr(allocation, name) for name in told}
    data["last_error"] = mask_text(allocation.last_error or "") or None
    _add(session, _OF_ALLOCATION[what], allocation.uuid, {"allocation": data}, project=allocation.owner)


# -- holds -------------------------------------------------------------------------------------------------------------


def _note_flushed_hold(session: Session, hold: Hold) -> None:
    state: Any = inspect(hold)
    if state.pending:
        note_hold(session, hold, "asserted")
    elif any(history_of(hold, name).has_changes() for name in _OF_HOLD):
        note_hold(session, hold, "begun" if history_of(hold, "begun_at").has_changes() else "changed")


def note_hold(session: Session, hold: Hold, what: str) -> None:
    """Note that a hold is ``asserted``, ``begun``, ``changed`` or ``released``: its node is the subject."""
    node = session.get(Node, hold.node_id)
    if node is not None:
        told = {name: getattr(hold, name) for name in _OF_HOLD}
        times = {name: in_words(told[name]) for name in told if name.endswith(("_at", "_deadline")) and told[name]}
        _add(session, _HELD[what], node.uuid, {"hold": {**told, **times}}, node=view_of(node))
