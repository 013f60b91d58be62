"""Watches every test: what the readers of events and the receivers of webhooks get is in the closed list of types.

Each event is compared with the row of its type before it is masked: with the members of its data, and with the projects
that read it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from baremetal_sched.scheduling.events.masks import Mask
from baremetal_sched.scheduling.events.reading import Event
from baremetal_sched.scheduling.events.types import READERS, TYPES

#: What is wrong with the events of the test.
FOUND: list[str] = []


def complaints(event: Event) -> Iterator[str]:
    """Yield what is wrong with an event."""
    row, members = TYPES.get(event.type), event.data.keys()
    if row is None:
        yield f"{event.type}: there is no such type"
        return
    yield from (f"{row.name}: it lacks {name}" for name in {*row.members} - members)
    yield from (f"{row.name}: its row has no {name}" for name in members - {*row.members, *row.optional})
    projects = {name for name in ("owner", "lessee", "project") if getattr(event, name)}
    others = projects - {*next(READERS[prefix] for prefix in READERS if row.name.startswith(prefix[:-1]))}
    yield from (f"{row.name}: READERS has no {name}" for name in others)


@contextmanager
def watched() -> Iterator[None]:
    """Watch what readers get."""
    apply = Mask.apply

    def watching(mask: Mask, event: Event) -> Event:
        FOUND.extend(complaints(event))
        return apply(mask, event)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Mask, "apply", watching)
        yield
