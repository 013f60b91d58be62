"""Domains as clients name them: a UUID, or LEVEL:NAME. What a caller does not see is as if it were not there.

``seen`` are the conditions on the nodes that count for the caller; without any, it sees all domains, and otherwise
those that have such a node.
"""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import ColumnElement, exists, literal, select

from baremetal_sched.baremetal.visibility import Conditions, is_exactly
from baremetal_sched.db.models import Domain, DomainMember, Node
from baremetal_sched.db.types import Reader
from baremetal_sched.documents.schema import canonical_uuid, excerpt
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.domains import DomainNotFound
from baremetal_sched.suggestions import did_you_mean

#: The most names that a message lists, and the most that it is looked for a similar one in.
_MOST_LISTED, _MOST_COMPARED = 20, 1000


@dataclass(frozen=True)
class NamedDomain:
    """A domain: its id, its UUID, and the level and the name by which it is called."""

    id: int
    uuid: str
    level: str
    name: str

    def condition(self) -> ColumnElement[bool]:
        """Return the condition that a node is in the domain, or below it.

        n.id IN (SELECT node_id FROM domain_members WHERE domain_id = …)
        """
        return Node.id.in_(select(DomainMember.node_id).where(DomainMember.domain_id == self.id))


def find(reader: Reader, text: str, seen: Conditions = ()) -> NamedDomain:
    """Return the domain that ``text`` names, in one statement. Raises InvalidValue, with what there is instead."""
    found = lookup(reader, text, seen)
    if found is None:
        raise InvalidValue(message=_refusal(reader, text, seen))
    return found


def find_one(reader: Reader, text: str, seen: Conditions = ()) -> NamedDomain:
    """Return the same for a path. Raises DomainNotFound, and InvalidValue for a name without its level."""
    found = lookup(reader, text, seen)
    if found is None:
        same_name = _called(reader, text, seen)
        raise InvalidValue(message=_ambiguous(text, same_name)) if same_name else DomainNotFound(domain=text)
    return found


def contents(reader: Reader, text: str, seen: Conditions = ()) -> ColumnElement[bool]:
    """Return the condition that a node is in the domain that ``text`` names, or below it; of LEVEL: without a name,
    that it is in no domain of the level. Raises InvalidValue, like ``find``.

    NOT EXISTS (SELECT … FROM domain_members WHERE node_id = n.id AND level = …)
    """
    if not text.endswith(":") or text.count(":") > 1:
        return find(reader, text, seen).condition()
    level = text.removesuffix(":")
    require_levels(reader, [level], seen)
    return ~exists().where(DomainMember.node_id == Node.id, DomainMember.level == level)


def require_levels(reader: Reader, names: Collection[str], seen: Conditions = (), *, lists_levels: bool = True) -> None:
    """Raise InvalidValue for the first of these names that is no level; ``lists_levels``: it says which ones are."""
    known = levels(reader, seen) if names else []
    for name in sorted(names):
        if name not in known:
            raise InvalidValue(message=_no_level(name, known) if lists_levels else f"There is no level {_plain(name)}.")


def levels(reader: Reader, seen: Conditions = ()) -> list[str]:
    """Return the levels that have domains, sorted."""
    query = select(Domain.level).where(*_are_seen(seen)).distinct().order_by(Domain.level)
    return [level for (level,) in reader.execute(query)]


def called(reader: Reader, uuids: Collection[str], seen: Conditions = ()) -> dict[str, str]:
    """Return the domains with these UUIDs as LEVEL:NAME."""
    query = select(Domain.uuid, Domain.level, Domain.name).where(Domain.uuid.in_(uuids), *_are_seen(seen))
    return {uuid: f"{level}:{name}" for uuid, level, name in reader.execute(query)}


def lookup(reader: Reader, text: str, seen: Conditions = ()) -> NamedDomain | None:
    """Return the domain that ``text`` names; None if there is none."""
    uuid = canonical_uuid(text)
    level, _, name = text.partition(":")
    own: Conditions = (
        (is_exactly(Domain.level.expression, literal(level)), is_exactly(Domain.name.expression, literal(name)))
        if uuid is None
        else (Domain.uuid == uuid,)
    )
    query = select(Domain.id, Domain.uuid, Domain.level, Domain.name).where(*own, *_are_seen(seen))
    row = reader.execute(query).first()
    return None if row is None else NamedDomain(*row)


def _called(reader: Reader, name: str, seen: Conditions) -> list[str]:
    """Return the domains of this name as LEVEL:NAME, of any level."""
    is_called = is_exactly(Domain.name.expression, literal(name))
    query = select(Domain.level).where(is_called, *_are_seen(seen)).order_by(Domain.level).limit(_MOST_LISTED)
    return [f"{level}:{name}" for (level,) in reader.execute(query)]


def _are_seen(seen: Conditions) -> Conditions:
    if not seen:
        return ()
    return (exists().where(DomainMember.domain_id == Domain.id, DomainMember.node_id == Node.id, *seen),)


# -- messages ----------------------------------------------------------------------------------------------------------


def _refusal(reader: Reader, text: str, seen: Conditions) -> str:
    level, colon, name = text.partition(":")
    known = levels(reader, seen)
    if not colon:
        same_name = _called(reader, text, seen)
        if same_name:
            return _ambiguous(text, same_name)
        return f"There is no domain {_plain(text)}. Write its UUID, or LEVEL:NAME. {_levels(known)}"
    if level not in known:
        return _no_level(level, known)
    query = select(Domain.name).where(Domain.level == level, *_are_seen(seen)).order_by(Domain.name)
    names = [each for (each,) in reader.execute(query.limit(_MOST_COMPARED))]
    return (
        f"There is no domain {_plain(text)}.{did_you_mean(name, names)} Domains of the level {level}: {_listed(names)}."
    )


def _ambiguous(text: str, same_name: Collection[str]) -> str:
    return f"Domains of several levels may be called {_plain(text)}: write {' or '.join(same_name)}, or the UUID."


def _no_level(name: str, known: Collection[str]) -> str:
    return f"There is no level {_plain(name)}. {_levels(known)}"


def _levels(known: Collection[str]) -> str:
    return f"Levels: {_listed(known)}." if known else "No level has a domain."


def _listed(names: Collection[str]) -> str:
    listed = ", ".join([*names][:_MOST_LISTED])
    more = len(names) - _MOST_LISTED
    return listed if more <= 0 else f"{listed} and {'more' if len(names) == _MOST_COMPARED else f'{more} more'}"


def _plain(text: str) -> str:
    return excerpt(text)[1:-1]
