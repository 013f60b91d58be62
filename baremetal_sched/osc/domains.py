"""openstack scheduling domain create, set, list, show, delete, add node, remove node"""

import argparse
from collections import Counter
from collections.abc import Iterator
from uuid import UUID

from osc_lib.command import command
from osc_lib.exceptions import CommandError

from baremetal_sched import commands
from baremetal_sched.members import DOMAIN
from baremetal_sched.osc.client import (
    Client,
    FitsOrNot,
    Pairs,
    RequestFailed,
    UsageError,
    WithOptions,
    client_of,
    path_of,
)
from baremetal_sched.osc.tables import Document, LinesColumn, Table, is_table, row, shown

_COUNTS = ("nodes", "added", "moved", "kept", "without")


def find(client: Client, named: str, level: str | None = None) -> Document:
    """Return the domain with this UUID, LEVEL:NAME or name. Raises CommandError unless exactly one exists."""
    found = _find(client, named, [] if level is None else [("level", level)])
    if len(found) > 1:
        raise CommandError(f"There are several domains called {named!r}: give --level ({_levels(found)}) or the UUID.")
    return found[0]


def find_parent(client: Client, named: str, level: str | None = None) -> str:
    """Return the UUID of the domain with this UUID or name, for domains below it: ``level`` is theirs, and its own is
    another. Raises CommandError unless exactly one exists."""
    found = _find(client, named, [])
    others = [each for each in found if each["level"] != level] or found
    if len(others) > 1:
        raise CommandError(f"There are several domains called {named!r} ({_levels(others)}): give the UUID.")
    return str(others[0]["uuid"])


def _find(client: Client, named: str, conditions: Pairs) -> list[Document]:
    """Return the domain with this UUID or LEVEL:NAME, or the domains with this name; at least one."""
    try:
        if _is_unique(named):
            return [client.get("scheduling", path_of("domains", named))]
    except RequestFailed as error:
        if error.status != 404:
            raise
    found: list[Document] = client.get("scheduling", "/domains", [("name", named), *conditions])["domains"]
    if not found:
        raise CommandError(f"There is no domain {named!r}. To list all domains: {commands.LIST_DOMAINS}")
    return found


def _is_unique(named: str) -> bool:
    try:
        return ":" in named or bool(UUID(named))
    except ValueError:
        return False


def _levels(domains: list[Document]) -> str:
    return ", ".join(each["level"] for each in domains)


class _OfDomain(WithOptions):
    """A command about a domain, or several."""

    number: str | None = None

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument(
            "domain", metavar="<domain>", nargs=self.number, help="Name of the domain, LEVEL:NAME or UUID."
        )
        parser.add_argument("--level", metavar="<level>", help="Level of the domain, if several levels have the name.")


class CreateDomain(FitsOrNot, command.ShowOne):
    """Create a domain, or with --from-property the domains that a property of nodes names

    With --from-property the command can be run again: it adds and moves nodes. A node stays where a person has put it.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("name", metavar="<name>", nargs="?", help="Name of the domain, unique within its level.")
        parser.add_argument(
            "--level",
            required=True,
            metavar="<level>",
            help="Kind of the domain: row, rack, nvlink or any other word in lower case.",
        )
        parser.add_argument("--parent", metavar="<domain>", help="UUID or name of the domain above it.")
        parser.add_argument(
            "--from-property",
            metavar="<property>",
            help="A property of nodes whose value is the name of a domain, such as rack.",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the names and values of the domain's members, or of the counts."""
        client = client_of(self.app)
        if (parsed_args.name is None) == (parsed_args.from_property is None):
            raise UsageError("Give the name of the domain, or --from-property.")
        if parsed_args.from_property is not None:
            if parsed_args.parent is not None:
                raise UsageError("--parent is of one domain: set it afterwards with 'scheduling domain set'.")
            return self._from_property(client, {"level": parsed_args.level, "property": parsed_args.from_property})
        body = {"name": parsed_args.name, "level": parsed_args.level}
        if parsed_args.parent is not None:
            body["parent"] = find_parent(client, parsed_args.parent, parsed_args.level)
        return shown(client.request("scheduling", "POST", "/domains", body))

    @staticmethod
    def _from_property(client: Client, body: dict[str, str]) -> Table:
        counts: Counter[str] = Counter()
        created: list[str] = []
        marker: str | None = ""
        while marker is not None:
            sent = {**body, "marker": marker} if marker else body
            done = client.request("scheduling", "POST", "/domains/from_property", sent)
            counts.update({name: done[name] for name in _COUNTS})
            created += done["created"]
            marker = done["marker"]
        return ("created", *_COUNTS), (LinesColumn(sorted(created)), *(counts[name] for name in _COUNTS))


class SetDomain(_OfDomain, FitsOrNot, command.ShowOne):
    """Rename a domain, or put it below another one, which then has its nodes, too"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        super().add_options(parser)
        parser.add_argument("--name", metavar="<name>", help="The new name.")
        parent = parser.add_mutually_exclusive_group()
        parent.add_argument("--parent", metavar="<domain>", help="UUID or name of the domain above it.")
        parent.add_argument("--no-parent", action="store_true", help="Have no domain above it.")

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the names and values of the domain's members."""
        client = client_of(self.app)
        if (parsed_args.name, parsed_args.parent, parsed_args.no_parent) == (None, None, False):
            raise UsageError("Give --name, --parent or --no-parent.")
        domain = find(client, parsed_args.domain, parsed_args.level)
        body: Document = {} if parsed_args.name is None else {"name": parsed_args.name}
        if parsed_args.no_parent:
            body["parent"] = None
        elif parsed_args.parent is not None:
            body["parent"] = find_parent(client, parsed_args.parent, domain["level"])
        return shown(client.request("scheduling", "PATCH", path_of("domains", domain["uuid"]), body))


class ListDomains(WithOptions, command.Lister):
    """List domains, by level and name"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("--level", metavar="<level>", help="Only domains of this level.")
        parser.add_argument("--parent", metavar="<domain>", help="Only domains right below this one: UUID or name.")

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return titles and rows."""
        client = client_of(self.app)
        parameters = [("level", parsed_args.level)] if parsed_args.level is not None else []
        if parsed_args.parent is not None:
            parameters.append(("parent", find_parent(client, parsed_args.parent)))
        found = list(client.pages("/domains", "domains", parameters, None))
        if not is_table(parsed_args):
            return DOMAIN.titles, [row(DOMAIN, each) for each in found]
        names = _names(client, found)
        return DOMAIN.titles, [row(DOMAIN, {**each, "parent": names.get(each["parent"])}) for each in found]


def _names(client: Client, domains: list[Document]) -> dict[str, str]:
    """Return the names of the domains and of those above them, by UUID."""
    names = {each["uuid"]: each["name"] for each in domains}
    if any(each["parent"] and each["parent"] not in names for each in domains):
        names |= {each["uuid"]: each["name"] for each in client.pages("/domains", "domains", [], None)}
    return names


class ShowDomain(_OfDomain, command.ShowOne):
    """Show a domain, the domains right below it, and its nodes"""

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the names and values of the domain's members."""
        client = client_of(self.app)
        domain = find(client, parsed_args.domain, parsed_args.level)
        nodes = [each["name"] or each["uuid"] for each in _nodes(client, domain)]
        below = [each["name"] for each in client.pages("/domains", "domains", [("parent", domain["uuid"])], None)]
        if is_table(parsed_args):
            domain = {**domain, "parent": _names(client, [domain]).get(domain["parent"])}
        return shown(domain, children=LinesColumn(below), members=LinesColumn(nodes))


def _nodes(client: Client, domain: Document) -> Iterator[Document]:
    return client.pages(path_of("domains", domain["uuid"], "nodes"), "nodes", [], None)


class DeleteDomain(_OfDomain):
    """Delete domains that have neither nodes nor domains below them"""

    number = "+"

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Delete them."""
        client = client_of(self.app)
        for named in parsed_args.domain:
            client.request("scheduling", "DELETE", path_of("domains", find(client, named, parsed_args.level)["uuid"]))


class AddNode(_OfDomain):
    """Put nodes into a domain; they leave any other domain of its level"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        super().add_options(parser)
        parser.add_argument("nodes", metavar="<node>", nargs="+", help="UUID or name of a node.")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Put them in."""
        client = client_of(self.app)
        domain = find(client, parsed_args.domain, parsed_args.level)["uuid"]
        for node in parsed_args.nodes:
            client.request("scheduling", "PUT", path_of("domains", domain, "nodes", node))


class RemoveNode(_OfDomain):
    """Take nodes out of a domain and those below it, or all of its nodes"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        super().add_options(parser)
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("nodes", nargs="*", default=[], metavar="<node>", help="UUID or name of a node.")
        which.add_argument("--all", action="store_true", help="Take all of its nodes out.")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Take them out."""
        client = client_of(self.app)
        domain = find(client, parsed_args.domain, parsed_args.level)
        nodes = [each["uuid"] for each in _nodes(client, domain)] if parsed_args.all else parsed_args.nodes
        for node in nodes:
            client.request("scheduling", "DELETE", path_of("domains", domain["uuid"], "nodes", node))
