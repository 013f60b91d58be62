"""Unknown names in a request, and the known names that may have been meant."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.question import Question
from baremetal_sched.baremetal.matching.reasons import PROVIDER
from baremetal_sched.db.models import Node
from baremetal_sched.placement.tables import CLASSES, INVENTORIES, PROVIDER_TRAITS, TRAITS

#: The limit on the unknown names that are looked at, on the known names that each is compared with, and on their
#: length.
_MOST = 10
_COMPARED = 5_000
_LONGEST = 80
_CLOSE = 3

_CUSTOM = "CUSTOM_"
_STOCK = INVENTORIES.alias("stock_by_name")


@dataclass(frozen=True)
class Unknown:
    """A name that nothing has, and names like it, each with how many of the machines have it."""

    name: str
    did_you_mean: list[tuple[str, int]]


def unknown_names(session: Session, question: Question) -> list[Unknown]:
    """Return the unknown names of the question, with the similar names that its machines have."""
    names = question.names
    with_traits = question.source.join(PROVIDER_TRAITS, PROVIDER_TRAITS.c.provider_id == PROVIDER.c.id).join(
        TRAITS, TRAITS.c.id == PROVIDER_TRAITS.c.trait_id
    )
    traits = _unknown(session, question, names.traits, TRAITS.c.name, TRAITS, with_traits)
    if names.of_nodes:
        return (
            _unknown(session, question, names.classes, Node.resource_class, question.counted, question.counted) + traits
        )
    with_classes = question.source.join(_STOCK, _STOCK.c.provider_id == PROVIDER.c.id).join(
        CLASSES, CLASSES.c.id == _STOCK.c.resource_class_id
    )
    return _unknown(session, question, names.classes, CLASSES.c.name, CLASSES, with_classes) + traits


def _unknown(
    session: Session, question: Question, asked: Collection[str], name: Any, named: Any, machines: Any
) -> list[Unknown]:
    """Return the ones of ``asked`` that do not occur in the column ``name`` of ``named``. ``machines``: what has the
    names.

    If only some machines may be disclosed, only the names that these have, and standard names, are known: a name that
    only other machines use is unknown, and does not hide a similar one.
    """
    if not asked:
        return []
    told = question.told or ()
    within = select(name).select_from(machines if told else named).where(*told).distinct()
    there = set(session.scalars(within.where(name.in_(asked))))
    if told and name is not Node.resource_class:
        standard = [each for each in asked if not each.startswith(_CUSTOM) and each not in there]
        there |= set(session.scalars(select(name).select_from(named).where(name.in_(standard)))) if standard else set()
    missing = [each for each in asked if each not in there][:_MOST]
    if not missing:
        return []
    known = list(session.scalars(within.where(name.is_not(None)).limit(_COMPARED)))
    like = {each: _like(each, known) for each in missing}
    wanted = {close for found in like.values() for close in found}
    counts: dict[str, int] = {}
    if wanted:
        counting = select(name, func.count()).select_from(machines).where(name.in_(wanted), *told)
        counts = {found: count for found, count in session.execute(counting.group_by(name))}
    return [Unknown(each, [(close, counts[close]) for close in like[each] if close in counts]) for each in missing]


def _like(word: str, known: Iterable[str]) -> list[str]:
    """Return the names of ``known`` that are most similar to ``word``. The common prefix of custom names is ignored."""
    if len(word) > _LONGEST:
        return []
    short: dict[str, str] = {}
    for name in known:
        short.setdefault(name.removeprefix(_CUSTOM).lower(), name)
    return [short[close] for close in get_close_matches(word.removeprefix(_CUSTOM).lower(), short, n=_CLOSE)]
