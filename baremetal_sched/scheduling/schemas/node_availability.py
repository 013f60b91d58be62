"""The explanation of whether a node is offered."""

from baremetal_sched.scheduling.schemas.answers import FLAG, TEXT, TEXT_OR_NULL, UUID, array, component, fields, said

FINDING = fields(
    {
        "label": said("What it is about, for programs.", TEXT),
        "reason": said("The same in a sentence.", TEXT),
        "remedy": said("What an operator can do about it.", TEXT),
    }
)
_FINDINGS = array(component("Finding"))

#: The node, whatever it is asked about.
NODE = {"node": said("UUID of the node.", UUID), "name": said("Name of the node, or null.", TEXT_OR_NULL)}
#: What keeps it from being used.
FINDINGS = {
    "reasons": said("Why it is not offered; empty if it is. The first counts most.", _FINDINGS),
    "remarks": said("What else is in the way of its use.", _FINDINGS),
}

AVAILABILITY = fields(
    {
        **NODE,
        "resource_class": said("The resource class that its provider has of it, or null.", TEXT_OR_NULL),
        "offered": said("Whether placement offers it now.", FLAG),
        **FINDINGS,
    }
)
