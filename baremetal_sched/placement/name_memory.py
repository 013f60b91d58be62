"""The memory of a process: ids of traits and resource classes by name, and whether there are trees.

The rule, for all of it:

* Nothing is remembered with SQLite, which gives ids out again: each call of ``of`` returns an empty memory.
* All of it is forgotten when a transaction fails for any other reason than a bug (``db.transaction``), since it may be
  the cause: a trait that is gone, or one that was rolled back.
* The name of an id never changes, and no id is given out again. Names of ids are remembered until then.
* The id of a name may change: the name can be deleted and created again. For searches it is remembered for 60 seconds,
  with whether few providers have it, and forgotten with all others at once. A search by these ids must check the names
  in its statement, or look them up again before it answers that there is nothing.
* For rows that are written it is remembered until a failure: nothing can refer to an id that is gone, so the
  transaction fails, and is run again without it.
* That some provider has a parent is remembered for 10 seconds; until then the search's fast path is not tried.
"""

import time
from dataclasses import dataclass, field

from baremetal_sched.db.models import ResourceClass, Trait
from baremetal_sched.db.types import Reader, process_cache

#: Seconds for which the ids of names are remembered for searches.
_IDS_SECONDS = 60.0

#: Seconds for which it is remembered that there are trees.
_TREES_SECONDS = 10.0

#: What has names.
Named = type[Trait] | type[ResourceClass]

#: By kind and name: the id, and whether few providers have it.
SearchedIds = dict[tuple[str, str], tuple[int, bool]]


@dataclass
class NameMemory:
    """``names`` by id. ``written_traits``: ids of traits by name, for rows that are written."""

    names: dict[Named, dict[int, str]] = field(default_factory=lambda: {Trait: {}, ResourceClass: {}})
    written_traits: dict[str, int] = field(default_factory=dict)
    _searched: SearchedIds = field(default_factory=dict)
    _searched_until: float = 0.0
    _trees_until: float = 0.0

    def searched_ids(self) -> SearchedIds:
        """Return the ids that searches looked up in the last seconds; the caller adds others."""
        now = time.monotonic()
        if self._searched_until < now:
            self._searched, self._searched_until = {}, now + _IDS_SECONDS
        return self._searched

    def note_trees(self) -> None:
        """Remember for a moment that some provider has a parent."""
        self._trees_until = time.monotonic() + _TREES_SECONDS

    def saw_trees(self) -> bool:
        """Return whether a provider with a parent was seen a moment ago."""
        return time.monotonic() < self._trees_until


def of(reader: Reader) -> NameMemory:
    """Return the memory of the process, or an empty one if it remembers nothing."""
    cache = process_cache(reader)
    if cache is None:
        return NameMemory()
    memory: NameMemory | None = cache.get(NameMemory)
    return cache.setdefault(NameMemory, NameMemory()) if memory is None else memory
