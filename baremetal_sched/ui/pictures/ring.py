"""The ring of a conductor group: which conductor owns which part of the nodes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from baremetal_sched.ui.pictures.markup import compact, element, image, percent, shortened

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
    label: str
    said: str
    class_: str
    share: float


def ring(ident: str, title: str, members: Sequence[RingMember], nodes: int) -> Markup:
    """Return the picture of the ring that ``members`` are on, in this order; ``nodes``: how many are on the ring.

    The inner ring has an arc for each live conductor, as large as its part. If some conductors are dead, an outer ring
    shows the parts that all would have, with the dead ones hatched. Arcs have the numbers of the conductors, from 1.
    """
    alive = [_arc(number, each, each.share) for number, each in enumerate(members, 1) if each.alive]
    dead = [each for each in members if not each.alive]
    drawn: list[Markup] = [_hatching(ident)]
    drawn += _band(ident, _bounded(alive), _NOW) if alive else [_circle()]
    if dead:
        every = [_arc(number, each, each.share_of_all) for number, each in enumerate(members, 1)]
        drawn += _band(ident, _bounded(every), _ALL)
    drawn += _middle(nodes, len(alive), len(members))
    return image(ident, title, _description(members, nodes), _SIZE, _SIZE, *drawn)


def _arc(number: int, member: RingMember, share: float) -> _Arc:
    colour = f"hue-{(number - 1) % COLOURS}" if member.alive else "dead"
    state = "" if member.alive else ", dead"
    return _Arc(str(number), f"{number}: {member.name}{state}, {percent(share)}", colour, share)


def _bounded(arcs: list[_Arc]) -> list[_Arc]:
    if len(arcs) <= MOST_ARCS:
        return arcs
    shown, rest = arcs[: MOST_ARCS - 1], arcs[MOST_ARCS - 1 :]
    share = sum(each.share for each in rest)
    return [*shown, _Arc("…", f"{len(rest)} more conductors, {percent(share)}", "rest", share)]


def _band(ident: str, arcs: Sequence[_Arc], radii: tuple[float, float]) -> list[Markup]:
    drawn, start = [], 0.0
    for arc in arcs:
        end = start + arc.share
        fill = f"url(#{ident}-dead)" if arc.class_ == "dead" else None
        shape = element(
            "path",
            element("title", arc.said),
            class_=f"arc {arc.class_}",
            d=_sector(*radii, start, end),
            fill=fill,
            fill_rule="evenodd",
        )
        drawn.append(shape)
        if arc.share >= _LABELLED:
            x, y = _point(sum(radii) / 2, (start + end) / 2)
            drawn.append(element("text", arc.label, class_=f"arc-label on-{arc.class_}", x=x, y=y, dy="0.35em"))
        start = end
    return drawn


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


def _hatching(ident: str) -> Markup:
    pattern = element(
        "pattern",
        element("rect", class_="dead-ground", width=6, height=6),
        element("line", class_="dead-line", x1=0, y1=0, x2=0, y2=6),
        id=f"{ident}-dead",
        width=6,
        height=6,
        patternUnits="userSpaceOnUse",
        patternTransform="rotate(45)",
    )
    return element("defs", pattern)


def _circle() -> Markup:
    return element("circle", class_="no-conductor", cx=_CENTRE, cy=_CENTRE, r=sum(_NOW) / 2, fill="none")


def _middle(nodes: int, alive: int, registered: int) -> list[Markup]:
    of = f"{alive} of {registered} alive" if registered else "no conductor"
    lines = (
        (compact(nodes), "middle-number", -4),
        ("node" if nodes == 1 else "nodes", "middle", 14),
        (of, "middle", 31),
    )
    return [element("text", text, class_=class_, x=_CENTRE, y=_CENTRE + dy) for text, class_, dy in lines]


def _description(members: Sequence[RingMember], nodes: int) -> str:
    if not members:
        return f"No conductor is registered. {_counted(nodes, 'node')} not served."
    told = [_told(number, each) for number, each in enumerate(members[:MOST_ARCS], 1)]
    if len(members) > MOST_ARCS:
        told.append(f"and {len(members) - MOST_ARCS} more")
    unserved = "" if any(each.alive for each in members) else " No conductor is alive: the nodes are not served."
    return f"{_counted(nodes, 'node')}. {'; '.join(told)}.{unserved}"


def _told(number: int, member: RingMember) -> str:
    name = f"{number}: {shortened(member.name, 60)}"
    if not member.alive:
        return f"{name} is dead"
    return f"{name} has {percent(member.share)} of the ring and {_counted(member.nodes, 'node')}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
