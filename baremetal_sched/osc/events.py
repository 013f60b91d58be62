"""openstack scheduling event list, follow"""

import argparse
import json
from collections.abc import Iterable
from typing import Any

from osc_lib.command import command

from baremetal_sched.osc.client import Client, FitsOrNot, client_of
from baremetal_sched.osc.query import add_domain_option
from baremetal_sched.osc.tables import TextColumn, plain

_TITLES = ("Time", "Type", "Subject", "Name", "Changed", "Cursor")
#: Seconds for which one request waits for an event.
_WAIT = "30"


def _text(value: Any) -> str:
    return "-" if value is None else json.dumps(value) if isinstance(value, dict | list | bool) else str(value)


def _changes(data: dict[str, Any]) -> str:
    """Return what has changed in words."""
    changed = data.get("changed", {})
    words = [
        f"{name}: {_text(each['before'])} -> {_text(each['after'])}" if each else name for name, each in changed.items()
    ]
    for part, name in (("consumer", "uuid"), ("claim", "uuid"), ("hold", "type"), ("allocation", "uuid")):
        if data.get(part):
            words.append(f"{part} {data[part][name]}")
    return ", ".join(words)


def _cursor(stream: str, event: dict[str, Any], *, has_mark: bool) -> str:
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
        parser.add_argument("--node", metavar="<uuid>", help="Only events of the node with this UUID.")

    def read(self, client: Client, parsed_args: argparse.Namespace, after: str | None, *more: tuple[str, str]) -> Any:
        """Return the events after the cursor, and the next cursor."""
        filters = [
            ("type", ",".join(parsed_args.type)),
            ("node", parsed_args.node),
            ("domain", parsed_args.domain),
            ("after", after),
        ]
        return client.get("scheduling", "/events", [*((name, value) for name, value in filters if value), *more])


class ListEvents(_ReadsEvents, command.Lister):
    """List events, the oldest first: those that are left, or those after a cursor"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        super().add_options(parser)
        parser.add_argument("--limit", type=int, metavar="<number>", help="At most this many.")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Iterable[Any]]:
        """Return titles and rows."""
        client, after = client_of(self.app), parsed_args.after
        rows: list[tuple[Any, str]] = []
        while parsed_args.limit is None or len(rows) < parsed_args.limit:
            limit = [] if parsed_args.limit is None else [("limit", str(parsed_args.limit - len(rows)))]
            answer = self.read(client, parsed_args, after, *limit)
            stream, _, *marks = answer["cursor"].split(":")
            rows += [(event, _cursor(stream, event, has_mark=bool(marks))) for event in answer["events"]]
            if not answer["events"] and answer["cursor"] == after:
                break
            after = answer["cursor"]
        return _TITLES, [
            (
                event["time"],
                event["type"],
                event["subject"],
                TextColumn(event["data"].get("name")),
                TextColumn(_changes(event["data"])),
                cursor,
            )
            for event, cursor in rows
        ]


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
        cursor = parsed_args.after or self.read(client, parsed_args, "now")["cursor"]
        while parsed_args.count is None or printed < parsed_args.count:
            answer = self.read(client, parsed_args, cursor, ("wait", _WAIT))
            for event in answer["events"]:
                self.app.stdout.write(plain(json.dumps(event)) + "\n")
            self.app.stdout.flush()
            printed, cursor = printed + len(answer["events"]), answer["cursor"]
