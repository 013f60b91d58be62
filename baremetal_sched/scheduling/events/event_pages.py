"""Pages of events for a reader: what follows a cursor, or what is before it, the newest first."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection

from baremetal_sched.db.event_types import USER
from baremetal_sched.scheduling.events import reading, types
from baremetal_sched.scheduling.events.cursors import Cursor
from baremetal_sched.scheduling.events.masks import Mask
from baremetal_sched.scheduling.events.reading import Event, Stream
from baremetal_sched.settings import Settings

#: The text for those who want only what happens from now on (``after``), or the newest events (``before``).
NOW = "now"

#: Events that one statement reads, if some of them may be hidden from the reader.
_BATCH = 1000


@dataclass(frozen=True)
class EventPage:
    """Events as the reader may see them, and the cursor for the next page; ``is_all``: there is nothing behind it now.
    Of what is before a cursor, the next page has older events; its cursor is None if there are none."""

    events: list[Event]
    cursor: Cursor | None
    is_all: bool = True


@dataclass(frozen=True)
class EventRequest:
    """Which events a reader with this mask wants: at most ``limit``, which are not older than ``since`` (seconds since
    1970).

    ``types`` are selectors of types, known ones; ``nodes`` are UUIDs; ``inside`` finds a condition that nodes meet
    today; ``user``: only what the reader sees this user to
    have changed; ``subject``: a UUID. None, or no types: all.
    """

    mask: Mask
    limit: int
    since: float | None = None
    types: Collection[str] = ()
    nodes: Collection[str] | None = None
    inside: Callable[[Connection], ColumnElement[bool]] | None = None
    user: str | None = None
    subject: str | None = None

    def after(self, connection: Connection, settings: Settings, after: str | Cursor | None = None) -> EventPage:
        """Return what follows a cursor, in order; None: all that are left.

        Raises InvalidValue, EventsGone, EventsNotServed, EventsDisabled.
        """
        cursor = _parsed(after)
        stream = reading.stream(connection, cursor.number if cursor is not None else 0)
        stream.require_served(settings)
        cursor = cursor or self._beginning(connection, stream)
        stream.require(cursor)
        on_nodes = self._on_nodes(connection)
        if after == NOW or cursor.number == stream.last:
            return EventPage([], stream.now)
        until = min(stream.last, cursor.number + reading.WINDOW) if self._is_sparse else stream.last
        events = self._find(connection, cursor.number, until, on_nodes)
        if len(events) == self.limit:
            until = events[-1].number
        now = reading.stream(connection, until)
        now.require(cursor)  # some of them may have been deleted since
        return EventPage(events, now.cursor(until), until >= stream.last)

    def before(self, connection: Connection, settings: Settings, before: str) -> EventPage:
        """Return what is up to a cursor, the newest first. Raises the same."""
        cursor = _parsed(before)
        stream = reading.stream(connection, cursor.number if cursor is not None else 0)
        stream.require_served(settings)
        cursor = cursor or stream.now
        stream.require(cursor, backwards=True)
        oldest = self._beginning(connection, stream).number
        start = max(oldest, cursor.number - reading.WINDOW) if self._is_sparse else oldest
        on_nodes, events = self._on_nodes(connection), []
        if start < cursor.number:
            events = self._find(connection, start, cursor.number, on_nodes, newest_first=True)
        end = events[-1].number - 1 if len(events) == self.limit else start
        older = reading.stream(connection, end).cursor(end) if end > oldest else None
        return EventPage(events, older, older is None)

    @property
    def _is_sparse(self) -> bool:
        """Whether many events may have to be looked at to find one."""
        return self.nodes is None and bool(self.types or self.inside or self.user or self.subject)

    def _beginning(self, connection: Connection, stream: Stream) -> Cursor:
        if self.since is None:
            return stream.beginning
        first = reading.first_since(connection, self.since)
        return stream.now if first is None else stream.cursor(first - 1)

    def _on_nodes(self, connection: Connection) -> ColumnElement[bool] | None:
        """Raises InvalidValue for a domain that there is not."""
        return None if self.inside is None else self.inside(connection)

    def _find(
        self,
        connection: Connection,
        after: int,
        until: int,
        on_nodes: ColumnElement[bool] | None,
        *,
        newest_first: bool = False,
    ) -> list[Event]:
        """Return events as the reader may see them. How many these are, and so the cursor, says nothing about changes
        of persons who are hidden from it."""
        sees_all = self.user is None or (self.user and self.mask.is_system)
        size = self.limit if sees_all else max(self.limit, _BATCH)
        found: list[Event] = []
        while True:
            events = reading.read_after(
                connection,
                after,
                size,
                project=self.mask.project,
                types=types.selected(self.types),
                nodes=self.nodes,
                on_nodes=on_nodes,
                user=self.user,
                subject=self.subject,
                until=until,
                newest_first=newest_first,
            )
            found += self._masked(events)
            if len(events) < size or len(found) >= self.limit:
                return found[: self.limit]
            after, until = (after, events[-1].number - 1) if newest_first else (events[-1].number, until)

    def _masked(self, events: list[Event]) -> list[Event]:
        masked = map(self.mask.apply, events)
        return [each for each in masked if self.user is None or each.data.get(USER) == self.user]


def _parsed(text: str | Cursor | None) -> Cursor | None:
    """Return the cursor; None for NOW and without one."""
    if isinstance(text, str):
        return None if text == NOW else Cursor.parse(text)
    return text
