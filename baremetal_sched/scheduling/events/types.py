"""The types of events: a closed list, by name or by prefix, and whose projects read each."""

from collections.abc import Collection, Iterable, Mapping

from baremetal_sched.baremetal import events as of_nodes
from baremetal_sched.db.event_types import EventType
from baremetal_sched.documents.schema import excerpt
from baremetal_sched.errors import InvalidValue
from baremetal_sched.placement import events as of_consumers
from baremetal_sched.suggestions import did_you_mean

TYPES: Mapping[str, EventType] = {each.name: each for each in (*of_nodes.EVENT_TYPES, *of_consumers.EVENT_TYPES)}

#: What selects all types about the same, and whose projects read these: by the columns of events.
READERS: Mapping[str, Collection[str]] = {
    "baremetal.node.*": ("owner", "lessee"),
    "baremetal.allocation.*": ("project",),
    "scheduling.machine.*": ("owner", "lessee", "project"),
    "scheduling.claim.*": ("project",),
    "scheduling.booking.*": ("project",),
    "scheduling.hold.*": ("owner", "lessee"),
}


_SELECTED = {prefix: [name for name in TYPES if name.startswith(prefix[:-1])] for prefix in READERS}


def require_known(selectors: Iterable[object]) -> None:
    """Raise InvalidValue for the first text that is neither a type nor ``prefix.*``."""
    known = (*TYPES, *READERS)
    for each in selectors:
        if isinstance(each, str) and each not in known:
            raise InvalidValue(message=f"There is no type of events {excerpt(each)}.{did_you_mean(each, known)}")


def selected(selectors: Collection[str]) -> list[str] | None:
    """Return the types that are selected; None: all, as there are no selectors. What is not known stays as it is:
    another release may write such events."""
    return [name for each in selectors for name in _SELECTED.get(each, [each])] or None
