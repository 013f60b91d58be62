"""What clients may ask to have explained."""

from typing import Any

from baremetal_sched.compute.schemas.form import Form, closed
from baremetal_sched.scheduling.schemas.requests import REQUEST

#: So many machines may be wanted.
MOST_WANTED = 1_000_000

_WANTED: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": MOST_WANTED}

#: A query of allocation candidates.
QUERY = Form(closed({"query": {"type": "string", "maxLength": 100_000}, "wanted": _WANTED}, "query"))

#: A flavor and an image.
SERVER = Form(
    closed(
        {
            **{name: form for name, form in REQUEST.schema["properties"].items() if name != "limit"},
            "wanted": _WANTED,
        },
        "flavor",
    )
)

#: How many are wanted, beside what the bare metal API takes for an allocation.
WANTED = Form(closed({"wanted": _WANTED}))
