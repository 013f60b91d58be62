"""openstack baremetal node hold add, list, remove; openstack scheduling hold list"""

import argparse
from collections.abc import Iterable
from datetime import datetime
from typing import Any
from urllib.parse import quote

from osc_lib.cli import parseractions
from osc_lib.command import command

from baremetal_sched.osc.client import client_of
from baremetal_sched.osc.find import positive
from baremetal_sched.osc.tables import TextColumn, TimeColumn, add_long, chosen, plain

_TYPES = ("hardware_failure", "operator_hold", "lockout", "window")
_ALL_TYPES = ("legacy", "fault", *_TYPES)
_TITLES = ("Hold", "Node", "Type", "Scope", "State", "Starts At", "Ends At", "Asserted By", "Project", "Reason")
_TABLE = ("Hold", "Type", "State", "Ends At")


def moment(text: str) -> str:
    """Return a time in ISO 8601 with its zone, by default that of this host; for argparse."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 2026-11-26T18:30+01:00") from None
    return (found if found.tzinfo else found.astimezone()).isoformat()


def _path(node: str, *hold: str) -> str:
    return "/".join(("/nodes", quote(plain(node), safe=""), "holds", *(quote(plain(each), safe="") for each in hold)))


def _row(hold: dict[str, Any]) -> tuple[Any, ...]:
    starts, ends = (TimeColumn(hold[name]) for name in ("starts_at", "ends_at"))
    node = hold["node_name"] or hold["node_uuid"]
    facts = (hold["uuid"], TextColumn(node), hold["type"], hold["scope"], hold["state"], starts, ends)
    texts = (hold["asserted_by"], hold["asserted_by_project"], hold["reason"])
    return (*facts, *(TextColumn(text) for text in texts))


class AddHold(command.ShowOne):
    """Assert a hold of a node: it is not to be used, from now or from a planned time on"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command's options."""
        parser = super().get_parser(prog_name)
        parser.add_argument("node", metavar="<node>", help="UUID or name of the node.")
        parser.add_argument("--type", required=True, choices=_TYPES, help="Why it is not to be used.")
        parser.add_argument("--reason", metavar="<text>", help="Why, for people.")
        parser.add_argument(
            "--extra", action=parseractions.KeyValueAction, metavar="<key=value>", help="Anything else; repeatable."
        )
        parser.add_argument("--starts-at", type=moment, metavar="<time>", help="The planned start; by default now.")
        parser.add_argument("--ends-at", type=moment, metavar="<time>", help="The planned end; by default none.")
        parser.add_argument("--drain", action="store_true", help="Begin when the node rests: it has no consumer.")
        parser.add_argument("--drain-deadline", type=moment, metavar="<time>", help="When to begin at the latest.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Iterable[Any]]:
        """Return the names and values of the hold's fields."""
        names = ("type", "reason", "extra", "starts_at", "ends_at", "drain_deadline")
        body = {name: value for name in names if (value := getattr(parsed_args, name)) is not None}
        if parsed_args.drain:
            body["drain"] = True
        hold = client_of(self.app).request("scheduling", "POST", _path(parsed_args.node), body)
        members = {name: value for name, value in hold.items() if name != "links"}
        return tuple(members), tuple(TextColumn(each) if isinstance(each, str) else each for each in members.values())


class ListNodeHolds(command.Lister):
    """List the holds of a node"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command's options."""
        parser = super().get_parser(prog_name)
        parser.add_argument("node", metavar="<node>", help="UUID or name of the node.")
        add_long(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Iterable[Any]]:
        """Return titles and rows."""
        found = client_of(self.app).get("scheduling", _path(parsed_args.node))["maintenance"]
        return chosen(parsed_args, _TITLES, map(_row, found), _TABLE)


class RemoveHold(command.Command):
    """Release holds of a node, or all of them"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command's options."""
        parser = super().get_parser(prog_name)
        parser.add_argument("node", metavar="<node>", help="UUID or name of the node.")
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("holds", nargs="*", default=[], metavar="<hold>", help="UUID of a hold.")
        which.add_argument("--all", action="store_true", help="Release all holds, planned ones too; or none.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Release them."""
        client = client_of(self.app)
        if parsed_args.all:
            client.request("scheduling", "DELETE", _path(parsed_args.node))
        for hold in parsed_args.holds:
            client.request("scheduling", "DELETE", _path(parsed_args.node, hold))


class ListHolds(command.Lister):
    """List holds: why machines must not be used, who asserted that, from when to when"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command's options."""
        parser = super().get_parser(prog_name)
        parser.add_argument("--type", choices=_ALL_TYPES, help="Only holds of this type.")
        parser.add_argument("--since", type=moment, metavar="<time>", help="Only holds that end after it.")
        parser.add_argument("--until", type=moment, metavar="<time>", help="Only holds that start before it.")
        begun = parser.add_mutually_exclusive_group()
        begun.add_argument("--active", action="store_const", const="true", help="Only holds that have begun.")
        begun.add_argument("--planned", dest="active", action="store_const", const="false", help="Only all others.")
        parser.add_argument("--class", dest="resource_class", metavar="<class>", help="Only nodes of this class.")
        parser.add_argument("--group", dest="conductor_group", metavar="<group>", help="Only nodes of this group.")
        parser.add_argument("--limit", type=positive, metavar="<number>", help="At most this many; the default is all.")
        add_long(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Iterable[Any]]:
        """Return titles and rows."""
        names = ("type", "since", "until", "active", "resource_class", "conductor_group")
        parameters = [(name, value) for name in names if (value := getattr(parsed_args, name)) is not None]
        found = client_of(self.app).pages("/holds", "maintenance", parameters, parsed_args.limit)
        return chosen(parsed_args, _TITLES, map(_row, found), ("Hold", "Node", *_TABLE[1:]))
