"""Schemas of events."""

from typing import Any

from baremetal_sched.scheduling.schemas.answers import FLAG, TEXT, TEXT_OR_NULL, UUID, array, component, fields, said

_ANY: dict[str, Any] = {}
_OF_NODES = {
    "uuid": said("UUID of the node, if the event is about one.", UUID),
    "name": TEXT_OR_NULL,
    "provision_state": said(
        "Like the others, as it is after the change. Events of claims and releases have only uuid and name.",
        TEXT_OR_NULL,
    ),
    "power_state": TEXT_OR_NULL,
    "maintenance": FLAG,
    "owner": TEXT_OR_NULL,
    "lessee": TEXT_OR_NULL,
    "resource_class": TEXT_OR_NULL,
    "conductor_group": TEXT_OR_NULL,
}
_CHANGED = {
    "type": "object",
    "additionalProperties": {"type": "object", "properties": {"before": _ANY, "after": _ANY}},
}
_OBJECT_OR_NULL = {"type": ["object", "null"]}
_DATA = {
    **_OF_NODES,
    "changed": said(
        "The fields of the node that the change has changed. Of properties and the like there are no values: read the "
        "node.",
        _CHANGED,
    ),
    "consumer": said("Who claims a machine, or gives one back; null if that is hidden.", _OBJECT_OR_NULL),
    "claim": said("The claim that waits, or has waited.", {"type": "object"}),
    "hold": said("The hold; who asserted it is null if that is hidden.", {"type": "object"}),
    "allocation": said("The allocation.", {"type": "object"}),
}

EVENT = fields(
    {
        "specversion": said("That of CloudEvents.", TEXT),
        "id": said("UUID of the event. The same event always has the same.", UUID),
        "source": said("The scheduling API: [api] public_endpoint and its path.", TEXT),
        "type": said("What has happened.", TEXT),
        "subject": said("UUID of the node, the claim or the allocation.", UUID),
        "time": said("When it happened, by the clock of the database.", {**TEXT, "format": "date-time"}),
        "sequence": said("The number of the event, with 20 digits: later events have higher numbers.", TEXT),
        "datacontenttype": TEXT,
        "data": fields(_DATA, optional=_DATA),
    }
)

EVENTS = fields(
    {
        "events": said("In the order in which they were committed.", array(component("Event"))),
        "cursor": said("The value of after for what follows: STREAM:NUMBER:MARK, or STREAM:NUMBER.", TEXT),
    }
)
