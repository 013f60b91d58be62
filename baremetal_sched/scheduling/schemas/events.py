"""Schemas of events."""

import re

from baremetal_sched.db.event_types import MEMBERS
from baremetal_sched.scheduling.events.types import READERS, TYPES
from baremetal_sched.scheduling.schemas.answers import TEXT, UUID, array, component, fields, said

#: What selects events: a type, or all types about the same.
SELECTOR = {**TEXT, "anyOf": [{"enum": [*TYPES]}, {"pattern": f"^({'|'.join(map(re.escape, READERS))})$"}]}

EVENT = fields(
    {
        "specversion": said("That of CloudEvents.", TEXT),
        "id": said("UUID of the event. The same event always has the same.", UUID),
        "source": said("The scheduling API: [api] public_endpoint and its path.", TEXT),
        "type": said("What has happened.", TEXT),
        "subject": said("UUID of the node, the claim, the booking or the allocation.", UUID),
        "time": said("When it happened, by the clock of the database.", {**TEXT, "format": "date-time"}),
        "sequence": said("The number of the event, with 20 digits: later events have higher numbers.", TEXT),
        "datacontenttype": TEXT,
        "data": fields(MEMBERS, optional=MEMBERS),
    }
)

EVENTS = fields(
    {
        "events": said(
            "In the order in which they were committed; with before, the newest first.", array(component("Event"))
        ),
        "cursor": said(
            "The value of after for what follows: STREAM:NUMBER:MARK, or STREAM:NUMBER. With before, the value of "
            "before for older events, and null if none are left.",
            {"type": ["string", "null"]},
        ),
    }
)
