"""What figures of capacity look like."""

from baremetal_sched.scheduling.capacity import COLUMNS, TRAIT
from baremetal_sched.scheduling.schemas.answers import COUNT, COUNTS, FLAG, TEXT_OR_NULL, array, fields, said

#: The names of a key by which machines are told apart by whether they have a trait.
TRAIT_KEY = f"^{TRAIT}[A-Z0-9_]+$"

_ROW = {
    **fields(
        {
            **{name: said("There if it is grouped by.", TEXT_OR_NULL) for name in COLUMNS},
            "total": said("How many machines there are.", COUNT),
            "free": said("How many of them placement offers.", COUNT),
            "allocated": said("How many are claimed or have an instance.", COUNT),
            "unavailable": said("How many of the others are out of use for each reason, each counted once.", COUNTS),
        },
        COLUMNS,
    ),
    "patternProperties": {TRAIT_KEY: said("Whether they have the trait. There if it is grouped by.", FLAG)},
}

CAPACITY = fields({"capacity": said("A row for each group.", array(_ROW))})
