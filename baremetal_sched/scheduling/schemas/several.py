"""Schemas of how many machines a request is for, and how they are spread."""

from typing import Any

from baremetal_sched.baremetal.matching.spreading import MOST
from baremetal_sched.compute.schemas.form import closed
from baremetal_sched.options.kinds import LEVEL
from baremetal_sched.scheduling.schemas.answers import TEXT, said

_NUMBER: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": MOST}
_LEVEL = said("A level of domains, such as rack.", {**TEXT, "pattern": LEVEL})

#: Members of a body that asks for several machines at once.
SEVERAL: dict[str, Any] = {
    "count": said(
        f"How many machines, all or none, from 1 to {MOST}. Each machine has a consumer of its own.",
        {**_NUMBER, "default": 1},
    ),
    "spread": said(
        "Take at most at_most machines of each domain of the level by. Machines that are in no domain of the level are "
        "not taken.",
        closed({"by": _LEVEL, "at_most": said("At most per domain.", {**_NUMBER, "default": 1})}, "by"),
    ),
    "pack": said(
        "Take all machines of one domain of the level by: of the domains that have enough machines, the one with the "
        "fewest to spare.",
        closed({"by": _LEVEL}, "by"),
    ),
    "group": said(
        "The name of a group of machines in the project. Its first claim decides how the group is spread and packed; "
        "later claims count the machines that the group has.",
        {**TEXT, "minLength": 1, "maxLength": 255},
    ),
}
