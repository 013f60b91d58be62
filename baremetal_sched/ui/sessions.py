"""Sessions as rows: begun, found by the value of a cookie, renewed, ended. See ``db.models.PageSession``."""

import secrets
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, insert, not_, or_, select, update

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import PageSession
from baremetal_sched.db.models.base import table_of
from baremetal_sched.db.models.page_sessions import IS_OVER
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.types import Query

#: The greatest number of sessions of a person; the oldest one ends for a new one.
MOST = 20
#: Seconds after which the time of the last request is written again.
WRITTEN_EVERY = 60

_SESSIONS = table_of(PageSession)


class SessionRow(NamedTuple):
    """A session that is not over. ``idle``: seconds since the time of the last request was written."""

    id: int
    digest: str
    person: str
    form_token: str
    tokens: str | None
    entry: str | None
    is_fixed: bool
    expires_at: float
    idle: float


#: SELECT id, …, (now) - used_at AS idle FROM page_sessions WHERE digest = :digest AND NOT (it is over)
_FIND: Query = select(
    *(_SESSIONS.c[name] for name in SessionRow._fields[:-1]), (epoch() - _SESSIONS.c.used_at).label("idle")
).where(_SESSIONS.c.digest == bindparam("digest"), not_(IS_OVER))


def new_value() -> str:
    """Return 32 random bytes, as cookies and forms have them."""
    return secrets.token_urlsafe(32)


def digest_of(cookie: str) -> str:
    """Return what the database has of the value of a cookie."""
    return sha256(cookie.encode()).hexdigest()


def find(connection: Connection, cookie: str) -> SessionRow | None:
    """Return the session whose cookie has this value; None if there is none, or it is over."""
    row = compiled.run(connection, _FIND, {"digest": digest_of(cookie)}).first()
    return None if row is None else SessionRow(*row)


def note_request(connection: Connection, session_id: int) -> None:
    """Write that the person has asked for something now."""
    is_late = _SESSIONS.c.used_at <= epoch() - WRITTEN_EVERY
    connection.execute(update(_SESSIONS).where(_SESSIONS.c.id == session_id, is_late).values(used_at=epoch()))


def begin(
    connection: Connection,
    cookie: str,
    person: str,
    expires_at: float | ColumnElement[float],
    replaced: str | None,
    values: Mapping[str, Any],
) -> list[str]:
    """Begin a session of a person, with further ``values``; the one of the cookie ``replaced`` ends. Return the tokens
    of sessions that end, as they are stored.

    The oldest session of the person ends if there are too many. Two that begin at the same moment get different places,
    as one of the transactions is run again.
    """
    own = _SESSIONS.c.person == person
    was_here = _SESSIONS.c.digest == digest_of(replaced or "")
    ended = _end(connection, or_(was_here, and_(own, IS_OVER)))
    rows = connection.execute(select(_SESSIONS.c.place, _SESSIONS.c.id).where(own).order_by(_SESSIONS.c.created_at))
    places = {place: session_id for place, session_id in rows}
    place = next((each for each in range(MOST) if each not in places), None)
    if place is None:
        place, oldest = next(iter(places.items()))
        ended += _end(connection, _SESSIONS.c.id == oldest)
    now = {name: epoch() for name in ("created_at", "used_at")}
    secret = {"digest": digest_of(cookie), "form_token": new_value()}
    row = {"person": person, "place": place, "expires_at": expires_at, **now, **secret, **values}
    connection.execute(insert(_SESSIONS).values(row))
    return ended


def renew(connection: Connection, row: SessionRow, cookie: str, tokens: str, expires_at: float) -> bool:
    """Give a session another cookie, form token, tokens and end. Return False, and do nothing, if it has ended, or has
    got another cookie."""
    values = {"digest": digest_of(cookie), "form_token": new_value(), "tokens": tokens, "expires_at": expires_at}
    is_same = and_(_SESSIONS.c.id == row.id, _SESSIONS.c.digest == row.digest)
    return rows_changed(connection.execute(update(_SESSIONS).where(is_same).values(values))) == 1


def end(connection: Connection, session_id: int) -> None:
    """End a session."""
    _end(connection, _SESSIONS.c.id == session_id)


def end_all(connection: Connection, person: str) -> list[str]:
    """End all sessions of a person; return their tokens, as they are stored."""
    return _end(connection, _SESSIONS.c.person == person)


def _end(connection: Connection, which: ColumnElement[bool]) -> list[str]:
    tokens = connection.scalars(select(_SESSIONS.c.tokens).where(which)).all()
    connection.execute(delete(_SESSIONS).where(which))
    return [each for each in tokens if each is not None]
