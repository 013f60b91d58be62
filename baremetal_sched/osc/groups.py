"""openstack scheduling group list"""

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

from osc_lib.command import command

from baremetal_sched.osc.client import FitsOrNot, client_of
from baremetal_sched.osc.query import about_unknown
from baremetal_sched.osc.tables import LinesColumn, ListColumn, TextColumn, is_table

_SHORT = ("Conductor Group", "Nodes", "Unserved", "Conductor", "Alive", "Drivers", "Its Nodes", "Share")
_IN_TABLES = ("Group", "Nodes", "Unserved", "Conductor", "Alive", "Drivers", "Its Nodes", "Share")
_OF_RINGS = ("Conductor Group", "Driver", "Nodes", "Conductor", "Alive", "Its Nodes", "Share of Ring")
_ANONYMOUS = ("Conductor Group", "Nodes", "Unserved", "Conductors Alive")


class ListGroups(FitsOrNot, command.Lister):
    """List conductor groups with their conductors, alive or not, and the share of the nodes of each

    Users who may not see conductors get the conductor groups of their nodes.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("--group", metavar="<group>", help='Only this conductor group; "" is for nodes in none.')
        parser.add_argument("--rings", action="store_true", help="Show the hash ring of each driver.")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Iterable[Any]]:
        """Return titles and rows."""
        client = client_of(self.app)
        parameters = [("conductor_group", parsed_args.group)] if parsed_args.group is not None else []
        groups = client.get("scheduling", "/groups", parameters)["groups"]
        if not groups and (unknown := about_unknown(client, conductor_group=parsed_args.group)):
            self.log.warning("%s", unknown)
        if any("conductors" not in group for group in groups):
            return _ANONYMOUS, [
                (TextColumn(each["conductor_group"]), each["nodes"], each["unserved"], each["conductors_alive"])
                for each in groups
            ]
        if parsed_args.rings:
            return _OF_RINGS, [row for group in groups for row in _ring_rows(group)]
        return _IN_TABLES if is_table(parsed_args) else _SHORT, [row for group in groups for row in _rows(group)]


def _rows(group: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each conductor, or one without a conductor."""
    first = (TextColumn(group["conductor_group"]), group["nodes"], group["unserved"])
    for each in group["conductors"]:
        hostname, drivers = TextColumn(each["hostname"]), LinesColumn(each["drivers"])
        yield (*first, hostname, each["alive"], drivers, each["nodes"], ShareColumn(each["share"]))
    if not group["conductors"]:
        yield (*first, None, None, ListColumn([]), None, None)


def _ring_rows(group: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    for ring in group["rings"]:
        first = (TextColumn(group["conductor_group"]), TextColumn(ring["driver"]), ring["nodes"])
        for each in ring["conductors"]:
            yield (*first, TextColumn(each["hostname"]), each["alive"], each["nodes"], ShareColumn(each["ring_share"]))
        if not ring["conductors"]:
            yield (*first, None, None, None, None)


class ShareColumn(TextColumn):
    """A fraction, in percent for people."""

    def human_readable(self) -> str:
        return f"{self._value:.1%}"
