"""openstack scheduling event list, follow"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from osc_lib.command import command

from baremetal_sched import event_words
from baremetal_sched.osc.client import UUID, Client, FitsOrNot, UsageError, client_of, path_of
from baremetal_sched.osc.holds import moment
from baremetal_sched.osc.query import add_domain_option
from baremetal_sched.osc.tables import Document, TextColumn, add_long, is_table, plain, wrapped
from baremetal_sched.osc.waiting import duration

_TITLES = ("Time", "Type", "Subject", "Name", "Changed", "User", "Cursor")
#: The titles and widths of the table, whose lines have at most 100 characters.
_TABLE = {"Time": 11, "Node": 14, "Event": 26, "Changed": 23, "User": 9}
#: The number of events that are listed, unless another one is given; and of those that one request asks for at most.
_LAST, _PAGE = 50, 1000
#: Seconds for which one request waits for an event.
_WAIT = "30"


def _since(text: str) -> str:
    """Return a time, also one so long ago (``1h``), in ISO 8601; for argparse."""
    if re.fullmatch("[0-9]{1,9}[smhd]", text):
        return (datetime.now(UTC) - timedelta(seconds=min(duration(text), 10**9))).isoformat()
    return moment(text)


def _user(data: Document) -> str | None:
    """Return who made the change: "service" for the service itself, None if that is unknown."""
    return (data["user_id"] or "service") if "user_id" in data else None


class CutColumn(TextColumn):
    """A text in a cell of a table, or as much of it as fits."""

    width = 0

    def human_readable(self) -> str:
        text = super().human_readable()
        return text if len(text) <= self.width else f"{text[: self.width - 1]}…"


def _cut(title: str, value: Any) -> TextColumn:
    cell = CutColumn(value)
    cell.width = _TABLE[title]
    return cell


class ChangedColumn(TextColumn):
    """What has changed, in short lines."""

    def human_readable(self) -> str:
        width = _TABLE["Changed"]
        lines = wrapped(super().human_readable(), width).split("\n")
        return "\n".join(each if len(each) <= width else f"{each[: width - 1]}…" for each in lines)


def _time(text: str) -> str:
    """Return a time of today as such, and another one with its day, in UTC."""
    return text[11:19] if text[:10] == f"{datetime.now(UTC):%Y-%m-%d}" else f"{text[5:10]} {text[11:16]}"


def _short(event: Document) -> tuple[Any, ...]:
    data = event["data"]
    named = data.get("name") or data.get("uuid")
    return (
        _time(event["time"]),
        _cut("Node", named),
        _cut("Event", event_words.area(event["type"])),
        ChangedColumn(event_words.changes(data)),
        _cut("User", _user(data)),
    )


def _long(event: Document, cursor: str) -> tuple[Any, ...]:
    data = event["data"]
    return (
        event["time"], event["type"], event["subject"], TextColumn(data.get("name")),
        TextColumn(event_words.changes(data)), TextColumn(_user(data)), cursor,
    )  # fmt: skip


def _cursor(stream: str, event: Document, *, has_mark: bool) -> str:
    """Return the cursor after the event; with its mark if the service takes marks."""
    return f"{stream}:{int(event['sequence'])}" + (f":{event['id'][:8]}" if has_mark else "")


class _ReadsEvents(FitsOrNot):
    """A command that reads events."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("--after", metavar="<cursor>", help="Only events after this cursor, which an answer gave.")
        parser.add_argument(
            "--type",
            action="append",
            default=[],
            metavar="<type>",
            help="Only events of this type, or of those that prefix.* selects (repeatable).",
        )
        add_domain_option(parser, "events of nodes")
        parser.add_argument("--node", metavar="<node>", help="Only events of this node: UUID or name.")
        parser.add_argument("--user", metavar="<id>", help="Only changes that the user with this ID has made.")

    def filters(self, client: Client, parsed_args: argparse.Namespace) -> list[tuple[str, str]]:
        """Return the parameters that select events."""
        node = parsed_args.node
        if node and not UUID.fullmatch(node):  # a node that was deleted has only its UUID
            node = client.get("baremetal", path_of("nodes", node))["uuid"]
        found = [("type", ",".join(parsed_args.type)), ("node", node), ("user_id", parsed_args.user)]
        inside = [] if parsed_args.domain is None else [("domain", parsed_args.domain)]
        return [*((name, value) for name, value in found if value), *inside]


class ListEvents(_ReadsEvents, command.Lister):
    """List events: the newest 50, the newest first

    With --after: all those after the cursor, the oldest first.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        super().add_options(parser)
        number = parser.add_mutually_exclusive_group()
        number.add_argument(
            "--last", type=int, metavar="<number>", help=f"The number of the newest events to print. Default: {_LAST}."
        )
        number.add_argument("--limit", type=int, metavar="<number>", help="At most this many.")
        parser.add_argument(
            "--since", type=_since, metavar="<time>", help="Only events since this time, or so long ago, such as 1h."
        )
        parser.add_argument("--reverse", action="store_true", help="In the opposite order.")
        add_long(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Iterable[Any]]:
        """Return titles and rows."""
        client = client_of(self.app)
        filters = self.filters(client, parsed_args)
        if parsed_args.after is not None:
            if parsed_args.since or parsed_args.last is not None:
                raise UsageError("--after, --since and --last exclude each other: give one of them.")
            found = [*_after(client, filters, parsed_args.after, parsed_args.limit)]
        else:
            most = next(each for each in (parsed_args.last, parsed_args.limit, _LAST) if each is not None)
            filters += [("since", parsed_args.since)] if parsed_args.since else []
            found = [*_newest(client, filters, most)]
        if parsed_args.reverse:
            found.reverse()
        if is_table(parsed_args) and not parsed_args.long:
            return tuple(_TABLE), [_short(event) for event, _ in found]
        return _TITLES, [_long(event, cursor) for event, cursor in found]


def _after(client: Client, filters: list[tuple[str, str]], after: str, limit: int | None) -> Iterator[tuple[Any, str]]:
    """Yield events after a cursor in order, at most ``limit``, each with its own cursor."""
    left = limit
    while left is None or left > 0:
        size = [] if left is None else [("limit", str(left))]
        answer = client.get("scheduling", "/events", [*filters, ("after", after), *size])
        stream, _, *marks = answer["cursor"].split(":")
        for event in answer["events"]:
            yield event, _cursor(stream, event, has_mark=bool(marks))
        left = None if left is None else left - len(answer["events"])
        if not answer["events"] and answer["cursor"] == after:
            break
        after = answer["cursor"]


def _newest(client: Client, filters: list[tuple[str, str]], most: int) -> Iterator[tuple[Any, str]]:
    """Yield the newest events, at most ``most``, the newest first. Standard error says if there may be older ones."""
    now = client.get("scheduling", "/events", [("after", "now")])["cursor"]
    stream, _, *marks = now.split(":")
    before, left = now, most
    while before is not None and left > 0:
        answer = client.get("scheduling", "/events", [*filters, ("before", before), ("limit", str(min(left, _PAGE)))])
        for event in answer["events"]:
            yield event, _cursor(stream, event, has_mark=bool(marks))
        left, before = left - len(answer["events"]), answer["cursor"]
    if before is not None and most > 0:
        sys.stderr.write(f"There may be older ones: --last {10 * most}\n")


class FollowEvents(_ReadsEvents):
    """Print events as they come, each as a line of JSON, until it is interrupted

    Without --after: those from now on.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        super().add_options(parser)
        parser.add_argument("--count", type=int, metavar="<number>", help="End after this many events.")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Print the events."""
        client, printed = client_of(self.app), 0
        filters = self.filters(client, parsed_args)
        cursor = parsed_args.after or client.get("scheduling", "/events", [*filters, ("after", "now")])["cursor"]
        while parsed_args.count is None or printed < parsed_args.count:
            answer = client.get("scheduling", "/events", [*filters, ("after", cursor), ("wait", _WAIT)])
            for event in answer["events"]:
                self.app.stdout.write(plain(json.dumps(event)) + "\n")
            self.app.stdout.flush()
            printed, cursor = printed + len(answer["events"]), answer["cursor"]
