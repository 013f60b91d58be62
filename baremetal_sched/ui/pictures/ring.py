"""The ring of a conductor group: which conductor owns which part of the nodes."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from baremetal_sched.ui.pictures.drawing import draw, percent, shortened

#: Conductors that have an arc of their own; the rest share one.
MOST_ARCS = 40

#: Colours of the style sheet, which begin again when they are used up; the number in the arc tells conductors apart.
COLOURS = 8

_SIZE = 260
_CENTRE = _SIZE / 2
_FULL = 2 * math.pi

#: Radii of the ring as it is, and around it as it would be if all conductors were alive.
_NOW = (62.0, 96.0)
_ALL = (102.0, 118.0)

#: A smaller part of the circle has no room for a number.
_LABELLED = 0.03


@dataclass(frozen=True)
class RingMember:
    """A conductor: its part of the ring, and what that would be if all conductors were alive, from 0 to 1.

    ``nodes``: how many it serves.
    """

    name: str
    alive: bool
    nodes: int
    share: float
    share_of_all: float


@dataclass(frozen=True)
class _Arc:
    """A part of the ring: its label, what a pointer over it says, and the class of the style sheet."""

    label: str
    said: str
    kind: str
    share: float


def ring(ident: str, title: str, members: Sequence[RingMember], nodes: int) -> Markup:
    """Return the picture of the ring that ``members`` are on, in this order; ``nodes``: how many are on the ring.

    The inner ring has an arc for each live conductor, as large as its part. If some conductors are dead, an outer ring
    shows the parts that all would have, with the dead ones hatched. Arcs have the numbers of the conductors, from 1.
    """
    alive = [_arc(number, each, each.share) for number, each in enumerate(members, 1) if each.alive]
    every = [_arc(number, each, each.share_of_all) for number, each in enumerate(members, 1)]
    outer = every if len(alive) < len(members) else []
    return draw(
        "ring",
        ident=ident,
        title=title,
        description=_description(members, nodes),
        width=_SIZE,
        height=_SIZE,
        arcs=[*_placed(_bounded(alive), *_NOW), *_placed(_bounded(outer), *_ALL)],
        alive=len(alive),
        registered=len(members),
        nodes=nodes,
    )


def _arc(number: int, member: RingMember, share: float) -> _Arc:
    colour = f"hue-{(number - 1) % COLOURS}" if member.alive else "dead"
    state = "" if member.alive else ", dead"
    return _Arc(str(number), f"{number}: {member.name}{state}, {percent(share)}", colour, share)


def _bounded(arcs: list[_Arc]) -> list[_Arc]:
    if len(arcs) <= MOST_ARCS:
        return arcs
    first, rest = arcs[: MOST_ARCS - 1], arcs[MOST_ARCS - 1 :]
    share = sum(each.share for each in rest)
    return [*first, _Arc("…", f"{len(rest)} more conductors, {percent(share)}", "rest", share)]


def _placed(arcs: Iterable[_Arc], inner: float, outer: float) -> Iterator[tuple[_Arc, str, tuple[float, float] | None]]:
    """Yield the arcs one after the other, between these radii: each with its outline, and where its label is if there
    is room for it."""
    start = 0.0
    for arc in arcs:
        end = start + arc.share
        middle = _point((inner + outer) / 2, (start + end) / 2)
        yield arc, _sector(inner, outer, start, end), middle if arc.share >= _LABELLED else None
        start = end


def _sector(inner: float, outer: float, start: float, end: float) -> str:
    """The outline of a part of a ring. A whole one is two circles: an arc that ends where it begins is nothing."""
    if end - start > 0.999:
        return f"{_outline(inner)} {_outline(outer)}"
    large = int(end - start > 0.5)
    (x1, y1), (x2, y2) = _point(outer, start), _point(outer, end)
    (x3, y3), (x4, y4) = _point(inner, end), _point(inner, start)
    return (
        f"M{x1:.2f} {y1:.2f}A{outer:g} {outer:g} 0 {large} 1 {x2:.2f} {y2:.2f}"
        f"L{x3:.2f} {y3:.2f}A{inner:g} {inner:g} 0 {large} 0 {x4:.2f} {y4:.2f}Z"
    )


def _outline(radius: float) -> str:
    half = f"a{radius:g} {radius:g} 0 1 0"
    return f"M{_CENTRE:g} {_CENTRE - radius:g}{half} 0 {2 * radius:g}{half} 0 {-2 * radius:g}Z"


def _point(radius: float, turn: float) -> tuple[float, float]:
    """A point of the circle, clockwise from the top; a ``turn`` of 1 is once around."""
    return _CENTRE + radius * math.sin(turn * _FULL), _CENTRE - radius * math.cos(turn * _FULL)


def _description(members: Sequence[RingMember], nodes: int) -> str:
    if not members:
        return f"No conductor is registered. {_counted(nodes, 'node')} not served."
    phrases = [_phrase(number, each) for number, each in enumerate(members[:MOST_ARCS], 1)]
    if len(members) > MOST_ARCS:
        phrases.append(f"and {len(members) - MOST_ARCS} more")
    unserved = "" if any(each.alive for each in members) else " No conductor is alive: the nodes are not served."
    return f"{_counted(nodes, 'node')}. {'; '.join(phrases)}.{unserved}"


def _phrase(number: int, member: RingMember) -> str:
    name = f"{number}: {shortened(member.name, 60)}"
    if not member.alive:
        return f"{name} is dead"
    return f"{name} has {percent(member.share)} of the ring and {_counted(member.nodes, 'node')}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
