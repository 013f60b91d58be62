"""The hash ring: maps keys to the members that own them. It knows neither conductors nor nodes.

For the same members and keys the owners are those of Ironic (and of tooz's ``HashRing``, on which Ironic builds): md5,
``2 ** exponent`` points per member, a key belongs to the member of the first point strictly behind it.
"""

import bisect
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

#: Number of positions on a ring, which are md5 digests.
_CIRCUMFERENCE = 2**128


@dataclass(frozen=True)
class Arc:
    """The keys from ``start`` to ``end`` (fractions of the ring, 0 to 1, in its direction) belong to ``member``."""

    start: float
    end: float
    member: str


class HashRing:
    """An immutable ring over ``members`` (names). At least one member; each has ``2 ** exponent`` points."""

    def __init__(self, members: Iterable[str], exponent: int = 5) -> None:
        owners: dict[int, str] = {}
        for member in sorted(set(members)):
            name = member.encode()
            # One running digest per member: point r is md5(name repeated r + 2 times).
            digest = hashlib.md5(name, usedforsecurity=False)
            for _ in range(2**exponent):
                digest.update(name)
                owners[int.from_bytes(digest.digest(), "big")] = member
        if not owners:
            raise ValueError("a ring needs at least one member")
        self._points = sorted(owners)
        self._owners = [owners[point] for point in self._points]

    def owner(self, key: str) -> str:
        """Return the member that owns ``key``."""
        position = int.from_bytes(hashlib.md5(key.encode(), usedforsecurity=False).digest(), "big")
        index = bisect.bisect_right(self._points, position)
        return self._owners[index % len(self._owners)]

    def arcs(self) -> list[Arc]:
        """Return the whole ring from 0 to 1, in order; neighbouring arcs have different members.

        What belongs to the first point from both sides of 0 is two arcs, one at each end.
        """
        arcs: list[Arc] = []
        start = before = 0.0
        member = self._owners[0]
        for point, owner in zip(self._points, self._owners, strict=True):
            if owner != member:
                # The keys before a point belong to it, so the new arc begins at the point before this one.
                arcs.append(Arc(start, before, member))
                start, member = before, owner
            before = point / _CIRCUMFERENCE
        if member != self._owners[0]:
            arcs.append(Arc(start, before, member))
            start = before
        arcs.append(Arc(start, 1.0, self._owners[0]))
        return arcs

    def shares(self) -> dict[str, float]:
        """Return the fraction of the ring that belongs to each member; the sum is 1."""
        shares = dict.fromkeys(self._owners, 0.0)
        for arc in self.arcs():
            shares[arc.member] += arc.end - arc.start
        return shares


@lru_cache(maxsize=512)
def ring_of(members: frozenset[str], exponent: int = 5) -> HashRing:
    """Return the ring over ``members``, which is cached."""
    return HashRing(members, exponent)
