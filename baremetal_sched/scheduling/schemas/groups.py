"""What conductor groups look like."""

from baremetal_sched.scheduling.schemas.answers import COUNT, FLAG, FRACTION, TEXT, array, fields, said

_CONDUCTOR = fields(
    {
        "hostname": TEXT,
        "alive": FLAG,
        "drivers": said("The drivers that it serves.", array(TEXT)),
        "nodes": said("How many nodes of the group it owns.", COUNT),
        "share": said("Its share of the group's nodes.", FRACTION),
    }
)
_MEMBER = fields(
    {
        "hostname": TEXT,
        "alive": FLAG,
        "nodes": said("How many nodes it owns.", COUNT),
        "ring_share": said("The fraction of the ring that is its own; 0 unless it is alive.", FRACTION),
    }
)
_RING = fields(
    {
        "driver": TEXT,
        "nodes": said("How many nodes of the group have the driver.", COUNT),
        "conductors": array(_MEMBER),
    }
)
_GROUP = fields(
    {
        "conductor_group": said("The name in lower case; empty for nodes that are in no group.", TEXT),
        "nodes": said("How many nodes are in the group.", COUNT),
        "unserved": said("How many of them no live conductor serves.", COUNT),
        "conductors_alive": said("How many conductors of the group are alive.", COUNT),
        "conductors": said("For callers who may see all groups.", array(_CONDUCTOR)),
        "rings": said("The hash ring of each driver, for callers who may see all groups.", array(_RING)),
    },
    {"conductors", "rings"},
)

GROUPS = fields({"groups": said("Sorted by name.", array(_GROUP))})
