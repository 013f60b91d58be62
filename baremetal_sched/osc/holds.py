"""openstack baremetal node hold add, list, set, remove"""

import argparse
from datetime import datetime
from typing import Any

from osc_lib.cli import parseractions
from osc_lib.command import command

from baremetal_sched.members import HOLD
from baremetal_sched.osc.client import FitsOrNot, UsageError, WithOptions, client_of, path_of
from baremetal_sched.osc.tables import Document, NarrowColumn, Table, add_long, chosen, row, shown

TYPES = HOLD.new_words["type"]
#: The columns of tables for people: which, since they must fit into 100 columns. All are in documents, and with --long.
_TABLE = ("Hold", "Type", "State", "Asserted By", "Reason")
#: The longest lines of persons and reasons in tables.
_PERSON, _WORDS = 12, 12


def moment(text: str) -> str:
    """Return a time in ISO 8601 with its zone, by default that of this host; for argparse."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 2026-11-26T18:30+01:00") from None
    return (found if found.tzinfo else found.astimezone()).isoformat()


def row_of(hold: Document, words: int = _WORDS) -> tuple[Any, ...]:
    """Return the cells of a hold, under the titles of its columns: the node is shown by its UUID if it has no name, and
    the person by its id. ``words``: the longest line of the reason in a table."""
    named = {
        "node_name": hold["node_name"] or hold["node_uuid"],
        "asserted_by": hold["asserted_by_name"] or hold["asserted_by"],
    }
    cells = dict(zip(HOLD.columns, row(HOLD, {**hold, **named}), strict=True))
    cells["asserted_by"] = NarrowColumn(named["asserted_by"], _PERSON)
    cells["reason"] = NarrowColumn(hold["reason"], words)
    return tuple(cells.values())


def add_new_hold(parser: argparse.ArgumentParser) -> None:
    """Add the options of a new hold."""
    parser.add_argument("--type", required=True, choices=TYPES, help="Why the machine must not be used.")
    parser.add_argument("--reason", metavar="<text>", help="Why, for people.")
    parser.add_argument(
        "--extra",
        action=parseractions.KeyValueAction,
        metavar="<key=value>",
        help="Anything else (repeat for several).",
    )
    parser.add_argument("--starts-at", type=moment, metavar="<time>", help="The planned start; by default now.")
    parser.add_argument("--ends-at", type=moment, metavar="<time>", help="The planned end; by default none.")
    parser.add_argument(
        "--drain", action="store_true", help="Begin when the node has no consumer and no work is under way."
    )
    parser.add_argument("--drain-deadline", type=moment, metavar="<time>", help="When to begin at the latest.")
    parser.add_argument(
        "--or-existing",
        action="store_true",
        help="Succeed if you have asserted the same hold for that time already; it stays as it is.",
    )


def new_hold(parsed_args: argparse.Namespace) -> Document:
    """Return the body of the request for a new hold."""
    names = ("type", "reason", "extra", "starts_at", "ends_at", "drain_deadline")
    body = {name: value for name in names if (value := getattr(parsed_args, name)) is not None}
    return body | {name: True for name in ("drain", "or_existing") if getattr(parsed_args, name)}


def add_changes(parser: argparse.ArgumentParser) -> None:
    """Add the options that change a hold."""
    parser.add_argument("--reason", metavar="<text>", help="Why, for people.")
    parser.add_argument(
        "--extra",
        action=parseractions.KeyValueAction,
        metavar="<key=value>",
        help="Anything else (repeat for several). It replaces the whole extra.",
    )
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--ends-at", type=moment, metavar="<time>", help="The new planned end.")
    end.add_argument("--until-released", action="store_true", help="Keep the hold until it is released.")


def changes(parsed_args: argparse.Namespace) -> Document:
    """Return the body of the request for a change. Raises UsageError if nothing is to be changed."""
    body = {name: value for name in ("reason", "extra", "ends_at") if (value := getattr(parsed_args, name)) is not None}
    if parsed_args.until_released:
        body["ends_at"] = None
    if not body:
        raise UsageError("Say what to change: --ends-at, --until-released, --reason or --extra.")
    return body


class AddHold(WithOptions, command.ShowOne):
    """Assert a hold of a node, which must not be used from now or from a planned time on"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("node", metavar="<node>", help="UUID or name of the node.")
        add_new_hold(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the names and values of the hold's members."""
        return shown(
            client_of(self.app).request(
                "scheduling", "POST", path_of("nodes", parsed_args.node, "holds"), new_hold(parsed_args)
            )
        )


class ListNodeHolds(WithOptions, command.Lister):
    """List the holds of a node"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("node", metavar="<node>", help="UUID or name of the node.")
        add_long(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return titles and rows."""
        found = client_of(self.app).get("scheduling", path_of("nodes", parsed_args.node, "holds"))["maintenance"]
        return chosen(parsed_args, HOLD.titles, map(row_of, found), _TABLE)


class SetHold(FitsOrNot, command.ShowOne):
    """Change the end, the reason or the extra of a hold of a node; the node stays held"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("node", metavar="<node>", help="UUID or name of the node.")
        parser.add_argument("hold", metavar="<hold>", help="UUID of the hold.")
        add_changes(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the names and values of the hold's members."""
        path = path_of("nodes", parsed_args.node, "holds", parsed_args.hold)
        return shown(client_of(self.app).request("scheduling", "PATCH", path, changes(parsed_args)))


class RemoveHold(WithOptions):
    """Release holds of a node, or all of them"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("node", metavar="<node>", help="UUID or name of the node.")
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("holds", nargs="*", default=[], metavar="<hold>", help="UUID of a hold.")
        which.add_argument(
            "--all",
            action="store_true",
            help="Release all holds, including planned ones; if one cannot be released, none is.",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Release them."""
        client = client_of(self.app)
        if parsed_args.all:
            client.request("scheduling", "DELETE", path_of("nodes", parsed_args.node, "holds"))
        for hold in parsed_args.holds:
            client.request("scheduling", "DELETE", path_of("nodes", parsed_args.node, "holds", hold))
