"""From which domains several machines are taken, all or none. Pure, without a database.

Within one domain of the level ``pack_by`` the limits of ``spread`` are a partition matroid: taking what is there is
optimal, so counting decides. Of the domains that have enough, the one with the fewest machines to spare is taken.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

#: Ids of the domains of a machine: that of the level ``pack_by``, and that of ``spread_by``. None: it is in no domain
#: of the level, or the request names no such level.
Place = tuple[int | None, int | None]

#: How many machines are at each place.
Places = Mapping[Place, int]

#: How many machines can be used, by domain of the level ``spread_by``, by domain of the level ``pack_by``.
_Rooms = dict[int | None, dict[int | None, int]]

#: The greatest number of machines of one request.
MOST = 100

#: The members of a body that say how many machines it is for, and the name of all of them in a request's document.
MEMBERS = ("count", "spread", "pack", "group")
SEVERAL = "several"
STRICT_END = "strict_end"


@dataclass(frozen=True)
class Several:
    """The group of a request: how many machines it is for, and how they are spread over domains, ``at_most`` in each
    domain of the level ``spread_by``, and within one domain of the level ``pack_by``.

    ``group``: the name of the machine group that they join; ``held``: where its machines are now, ``own``: the ids of
    these nodes, if they are known.
    """

    count: int
    spread_by: str | None = None
    at_most: int | None = None
    pack_by: str | None = None
    group: str | None = None
    held: Places = field(default_factory=dict)
    own: Collection[int] = ()

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Several | None":
        """Return what the members of a body say; None if it has none of them: it is for one machine."""
        if not any(document.get(name) is not None for name in MEMBERS):
            return None
        spread, pack = document.get("spread") or {}, document.get("pack") or {}
        # JSON may write 2.0 for 2.
        at_most = int(spread.get("at_most", 1)) if spread else None
        return cls(int(document.get("count") or 1), spread.get("by"), at_most, pack.get("by"), document.get("group"))

    def document(self) -> dict[str, Any]:
        """Return it as JSON, as bodies write it: without what the group has."""
        return {
            "count": self.count,
            **({} if self.spread_by is None else {"spread": {"by": self.spread_by, "at_most": self.at_most}}),
            **({} if self.pack_by is None else {"pack": {"by": self.pack_by}}),
            **({} if self.group is None else {"group": self.group}),
        }

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> "Several | None":
        """Return the group in the document of a request; None: it is for one machine."""
        return cls.of(document.get(SEVERAL, {}))

    @property
    def levels(self) -> set[str]:
        """The levels whose domains count."""
        return {level for level in (self.spread_by, self.pack_by) if level is not None}

    @property
    def rules(self) -> tuple[str | None, int | None, str | None]:
        """How the machines are spread, apart from their number."""
        return self.spread_by, self.at_most, self.pack_by


def with_group(document: dict[str, Any], several: Several | None, *, strict_end: bool = False) -> dict[str, Any]:
    """Return the document of a request with its group, which ``Several.read`` reads; and whether its end is strict, if
    it is."""
    strict = {STRICT_END: True} if strict_end else {}
    return {**document, **strict, **({} if several is None else {SEVERAL: several.document()})}


@dataclass(frozen=True)
class Quotas:
    """How many machines are taken from each domain of the level ``spread_by``, all in the domain ``pack``."""

    pack: int | None
    numbers: Mapping[int | None, int]


def quotas(several: Several, free: Places) -> Quotas | None:
    """Return from where the machines are taken; None if no choice of the ``free`` ones satisfies the request.

    The machines that the group has count in the domains of ``spread_by``; new ones are taken from a domain of
    ``pack_by`` that has some of them.
    """
    rooms = _rooms(several, free)
    enough = [pack for pack, room in rooms.items() if sum(room.values()) >= several.count]
    if not enough:
        return None
    pack = min(enough, key=lambda each: (sum(rooms[each].values()), each or 0))
    return Quotas(pack, _dealt(several.count, rooms[pack], _by_spread(several.held)))


def _rooms(several: Several, free: Places) -> _Rooms:
    usable, rooms = _usable(several), _Rooms()
    for place, number in free.items():
        number = usable(place, number)
        if number > 0:
            rooms.setdefault(place[0], {})[place[1]] = number
    return rooms


def _usable(several: Several) -> Callable[[Place, int], int]:
    """Return how many of a number of machines at a place can be used."""
    taken, homes = _by_spread(several.held), {pack for pack, _ in several.held if pack is not None}

    def usable(place: Place, number: int) -> int:
        pack, spread = place
        if several.pack_by is not None and (pack is None or (homes and pack not in homes)):
            return 0
        if several.spread_by is None:
            return number
        return 0 if spread is None else min(number, (several.at_most or 1) - taken[spread])

    return usable


class Room:
    """The room for several machines, as machines come and go: whether ``quotas`` would find a choice."""

    def __init__(self, several: Several) -> None:
        self._usable, self._count = _usable(several), several.count
        self._free, self._sums = Counter[Place](), Counter[int | None]()

    def change(self, place: Place, number: int) -> bool:
        """Add a number of machines at a place; return whether its domain of ``pack_by`` has enough of them."""
        before = max(self._usable(place, self._free[place]), 0)
        self._free[place] += number
        self._sums[place[0]] += max(self._usable(place, self._free[place]), 0) - before
        return self.has_enough(place[0])

    def has_enough(self, pack: int | None) -> bool:
        """Return whether a domain of ``pack_by`` has enough machines that can be used."""
        return self._sums[pack] >= self._count


def adds_room(several: Several, free: Places, freed: int) -> bool:
    """Return whether any of the domains had fewer ``free`` machines than ``spread`` lets be used before ``freed``
    machines became free."""
    taken = _by_spread(several.held)
    return any(number - freed < (several.at_most or 1) - taken[spread] for (_, spread), number in free.items())


def _by_spread(places: Places) -> Counter[int | None]:
    found: Counter[int | None] = Counter()
    for (_, spread), number in places.items():
        found[spread] += number
    return found


def _dealt(count: int, room: Mapping[int | None, int], taken: Mapping[int | None, int]) -> dict[int | None, int]:
    """Return how many of each domain: the ones with the fewest machines of the group first, then those with most
    room."""
    dealt: Counter[int | None] = Counter()
    turns = [(taken.get(each, 0), -number, each or 0, each) for each, number in room.items()]
    heapq.heapify(turns)
    for _ in range(count):
        has, left, row_id, domain = heapq.heappop(turns)
        dealt[domain] += 1
        if left < -1:
            heapq.heappush(turns, (has + 1, left + 1, row_id, domain))
    return dict(dealt)


# -- why there is no choice --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lack:
    """Where the machines run out: ``had`` of them can be had, in the domain ``pack`` (an id).

    ``domains``: how many domains of ``spread_by`` have some. ``at_most``: the limit that would be enough, ``unpacked``:
    whether they could be had from several domains of ``pack_by``; ``is_home``: the machine group is in ``pack``.
    ``placeless``: the free machines that are in no domain, by level.
    """

    had: int
    pack: int | None
    domains: int
    at_most: int | None
    unpacked: bool
    is_home: bool
    placeless: Mapping[str, int]


def lack(several: Several, free: Places) -> Lack:
    """Return why ``quotas`` finds nothing."""
    rooms = _rooms(several, free)
    pack = max(rooms, key=lambda each: (sum(rooms[each].values()), -(each or 0)), default=None)
    room = rooms.get(pack, {})
    levels = zip((several.pack_by, several.spread_by), (0, 1), strict=True)
    placeless = {
        level: sum(number for place, number in free.items() if place[side] is None)
        for level, side in levels
        if level is not None
    }
    return Lack(
        sum(room.values()),
        pack,
        len(room),
        _enough_each(several, free),
        several.pack_by is not None and quotas(replace(several, pack_by=None), merged(free)) is not None,
        any(home is not None for home, _ in several.held),
        {level: number for level, number in placeless.items() if number},
    )


def merged(places: Places) -> Places:
    """Return the same machines without regard to the level ``pack_by``."""
    return {(None, spread): number for spread, number in _by_spread(places).items()}


def _enough_each(several: Several, free: Places) -> int | None:
    """Return the least limit of ``spread`` that would be enough; None if no limit would, or without ``spread``."""
    if several.spread_by is None:
        return None
    low, high = (several.at_most or 1) + 1, sum(free.values()) + sum(several.held.values())
    if low > high or quotas(replace(several, at_most=high), free) is None:
        return None
    while low < high:
        middle = (low + high) // 2
        if quotas(replace(several, at_most=middle), free) is None:
            low = middle + 1
        else:
            high = middle
    return low


def sentence(several: Several, lacks: Lack, pack: str | None) -> str:
    """Return where the machines run out and which change would help; ``pack`` is the name of that domain."""
    where = []
    if several.pack_by is not None:
        home = ", that of the machine group" if lacks.is_home else ""
        where.append(f"into one {several.pack_by}" + ("" if pack is None else f" ({pack}{home})"))
    if several.spread_by is not None:
        limit = f"at most {several.at_most} in the same {several.spread_by}"
        where.append(f"with {limit} (domains with room: {lacks.domains})")
    changes = [] if lacks.at_most is None else [f"allow {lacks.at_most} in the same {several.spread_by}"]
    changes += [f"ask for {lacks.had}"] if lacks.had else []
    changes += [f"leave {several.pack_by} out"] if lacks.unpacked and several.pack_by else []
    placeless = "".join(f" In no {level}: {number:,}." for level, number in lacks.placeless.items())
    fit = f"At most {lacks.had} of {several.count} machines {'fit' if lacks.had > 1 else 'fits'}"
    said = f"{fit if lacks.had else 'No machine fits'} {', '.join(where)}."
    return said + (f" To do: {', or '.join(changes)}." if changes else "") + placeless
