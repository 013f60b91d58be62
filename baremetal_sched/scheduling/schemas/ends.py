"""Members of bodies that say until when a request has its machine."""

from typing import Any

from baremetal_sched.placement.ends import LONGEST
from baremetal_sched.scheduling.schemas.answers import FLAG, TIME_OR_NULL, said

ENDS: dict[str, Any] = {
    "until": said(
        "When the machine is given back by itself, whoever forgets it; null: never. By default after [scheduling] "
        "default_claim seconds. A claim that waits stops waiting [scheduling] shortest_claim seconds before.",
        TIME_OR_NULL,
    ),
    "for": said(
        "Instead: after how many seconds of having its machine, or all of several. Deployment is part of it.",
        {"type": "number", "exclusiveMinimum": 0, "maximum": LONGEST},
    ),
    "strict_end": said(
        "Whether to take no machine for which a hold is planned before the end. Otherwise such a machine is taken only "
        "if no other fits; several machines are taken with such ones among them only if no choice does without. "
        "Default: false.",
        FLAG,
    ),
}
