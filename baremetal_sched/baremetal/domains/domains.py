"""Domains themselves: making, finding, changing and deleting them, and the way from one to the top."""

import uuid as uuid_module
from collections.abc import Collection, Mapping, Sequence, Set
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import flag_modified
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db import schema_state
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.compiled import insert_missing
from baremetal_sched.db.models import Domain, DomainMember, table_of
from baremetal_sched.db.types import Rows
from baremetal_sched.errors.domains import (
    DomainExists,
    DomainNotEmpty,
    DomainNotFound,
    DomainsNotServed,
    LevelTwice,
    ParentNotFound,
)

#: The first schema whose releases all know domains.
FIRST_REVISION = "0027"

_ROWS = table_of(Domain)


def require_served(session: Session) -> None:
    """Raise DomainsNotServed while a release that knows no domains may serve the database."""
    if not schema_state.has_finished(session.connection(), FIRST_REVISION):
        raise DomainsNotServed


def create(session: Session, name: str, level: str, parent: str | None = None, **columns: Any) -> Domain:
    """Return a new domain, below the one with the UUID ``parent``, with other ``columns``. Raises DomainExists,
    ParentNotFound, LevelTwice, DomainsNotServed."""
    require_served(session)
    _require_free(session, name, level)
    domain = Domain(uuid=str(uuid_module.uuid4()), name=name, level=level, created_at=utcnow(), **columns)
    _hang(domain, _parents(session, parent), {level})
    session.add(domain)
    session.flush()
    return domain


def ensure(session: Session, level: str, names: Collection[str], from_property: str) -> list[str]:
    """Make the domains of the level with these names that are missing, and return the names of these. Raises
    DomainsNotServed."""
    require_served(session)
    present = session.scalars(select(Domain.name).where(Domain.level == level, Domain.name.in_(names)))
    missing = sorted(set(names) - set(present))
    common = {"level": level, "from_property": from_property, "revision": 1, "created_at": utcnow()}
    insert_missing(session, _ROWS, [{"uuid": str(uuid_module.uuid4()), "name": name, **common} for name in missing])
    return missing


def find_for_change(session: Session, uuid: str) -> Domain:
    """Return the domain, its row locked until the transaction ends. Raises DomainNotFound."""
    domain = session.scalars(select(Domain).where(Domain.uuid == uuid).with_for_update()).first()
    if domain is None:
        raise DomainNotFound(domain=uuid)
    return domain


def path_of(session: Session, uuid: str) -> list[Domain]:
    """Return the domain and all above it, like ``path_from``. Raises DomainNotFound."""
    path = path_from(session, session.scalar(select(Domain.id).where(Domain.uuid == uuid)))
    if not path:
        raise DomainNotFound(domain=uuid)
    return path


def path_from(session: Session, row_id: int | None, *, for_change: bool = False) -> list[Domain]:
    """Return the domain with this id and all above it, from below upwards; for None an empty list.

    Until the transaction ends, no other transaction deletes them or gives them other parents. ``for_change``: this one
    may do so.
    """
    path: list[Domain] = []
    while row_id is not None:
        query = select(Domain).where(Domain.id == row_id).with_for_update(read=not for_change)
        domain = session.scalars(query.execution_options(populate_existing=True)).first()
        if domain is None:
            raise StaleDataError("the domain was deleted")
        path.append(domain)
        row_id = domain.parent_id
    return path


def paths_to(session: Session, level: str, names: Set[str]) -> dict[str, list[Domain]]:
    """Return the domains of the level with these names by name, each with all above it, like ``path_from``."""
    query = select(Domain).where(Domain.level == level, Domain.name.in_(names)).order_by(Domain.id)
    found = session.scalars(query.with_for_update(read=True)).all()
    if len(found) < len(names):
        raise StaleDataError("a domain was deleted")
    above = {parent: path_from(session, parent) for parent in {each.parent_id for each in found}}
    return {each.name: [each, *above[each.parent_id]] for each in found}


def closure(session: Session, starts: Collection[int], *, upward: bool) -> Rows:
    """Return ``start``, ``id`` and ``level`` of the domains ``starts`` and of all above (or below) each of them.

    WITH RECURSIVE found AS (SELECT id AS start, id, level, parent_id FROM domains WHERE id IN (…) UNION ALL SELECT
    found.start, d.id, d.level, d.parent_id FROM domains d JOIN found ON d.id = found.parent_id) SELECT … FROM found
    """
    columns = (_ROWS.c.id, _ROWS.c.level, _ROWS.c.parent_id)
    first = select(_ROWS.c.id.label("start"), *columns).where(_ROWS.c.id.in_(starts))
    found = first.cte("found", recursive=True)
    link = _ROWS.c.id == found.c.parent_id if upward else _ROWS.c.parent_id == found.c.id
    found = found.union_all(select(found.c.start, *columns).join_from(_ROWS, found, link))
    return session.execute(select(found.c.start, found.c.id, found.c.level)).all()


def change(session: Session, domain: Domain, columns: Mapping[str, Any]) -> None:
    """Set ``columns`` of ``domain`` (its row locked), such as its name. Raises DomainExists."""
    changed = {name: value for name, value in columns.items() if getattr(domain, name) != value}
    if "name" in changed:
        _require_free(session, changed["name"], domain.level)
    for name, value in changed.items():
        setattr(domain, name, value)
    if changed:
        _touch(domain)


def hang(session: Session, domain: Domain, parent: str | None) -> None:
    """Put ``domain`` (its row locked) below the one with the UUID ``parent``, or below none. Raises ParentNotFound,
    LevelTwice."""
    _hang(domain, _parents(session, parent), {row.level for row in closure(session, [domain.id], upward=False)})
    _touch(domain)
    session.flush()


def delete(session: Session, domain: Domain) -> None:
    """Delete ``domain`` (its row locked). Raises DomainNotEmpty."""
    children = select(func.count()).where(_ROWS.c.parent_id == domain.id).scalar_subquery()
    nodes = select(func.count()).where(DomainMember.domain_id == domain.id).scalar_subquery()
    below, inside = session.execute(select(children, nodes)).one()
    counts = ((inside, "node", "nodes"), (below, "domain below it", "domains below it"))
    contents = ", ".join(f"{count} {one if count == 1 else more}" for count, one, more in counts if count)
    if contents:
        raise DomainNotEmpty(domain=domain.name, contents=contents)
    session.delete(domain)


def _require_free(session: Session, name: str, level: str) -> None:
    uuid = session.scalar(select(Domain.uuid).where(Domain.level == level, Domain.name == name))
    if uuid is not None:
        raise DomainExists(name=name, level=level, uuid=uuid)


def _parents(session: Session, uuid: str | None) -> list[Domain]:
    """Return the domain ``uuid`` and all above it, for a change."""
    if uuid is None:
        return []
    row_id = session.scalar(select(Domain.id).where(Domain.uuid == uuid))
    if row_id is None:
        raise ParentNotFound(domain=uuid)
    return path_from(session, row_id, for_change=True)


def _hang(domain: Domain, parents: Sequence[Domain], levels: Collection[str]) -> None:
    """Put ``domain`` below the first of ``parents``, which are the way to the top. ``levels``: those of the domain and
    of all below it.

    Every domain on the way gets a new revision: if two changes would make a circle together, one of them is repeated.
    The caller does this for the domain itself.
    """
    twice = next((each.level for each in parents if each.level in levels), None)
    if twice is not None:
        raise LevelTwice(domain=domain.name, parent=parents[0].name, level=parents[0].level, twice=twice)
    domain.parent_id = parents[0].id if parents else None
    for each in parents:
        _touch(each)


def _touch(domain: Domain) -> None:
    domain.updated_at = utcnow()
    flag_modified(domain, "updated_at")
