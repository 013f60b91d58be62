"""openstack baremetal node find"""

import argparse
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from osc_lib.command import command
from osc_lib.exceptions import CommandError

from baremetal_sched import commands
from baremetal_sched.osc.client import Client, FitsOrNot, RequestFailed, UsageError, client_of
from baremetal_sched.osc.names import placement_class
from baremetal_sched.osc.query import about_unknown, add_domain_option, add_machine_options, split
from baremetal_sched.osc.tables import ListColumn, TextColumn, is_table

_FIELDS = ("uuid", "name", "resource_class", "conductor_group", "provision_state", "traits")
_TITLES = ("UUID", "Name", "Resource Class", "Conductor Group", "Provisioning State", "Traits")
_TABLE = ("UUID", "Name", "Class", "Group", "State", "Traits")
_PAGE = 1000

_TRAITS = ("traits", "not-traits-any", "traits-any")

#: What the bare metal API knows of a free node. Placement knows whether it is claimed.
_AVAILABLE = (("provision_state", "available"), ("maintenance", "false"), ("associated", "false"))

_EXPLAIN = f"No node was found. This shows what there is: {commands.SHOW_CAPACITY}"


class FindNode(FitsOrNot, command.Lister):
    """Find nodes by class, traits, state and other properties

    All conditions must hold. The exit status is 0 if a node was found, and 3 if not.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        add_machine_options(parser)
        parser.add_argument(
            "--group", metavar="<group>", help='The conductor group of the node; "" is for nodes in none.'
        )
        add_domain_option(parser)
        parser.add_argument(
            "--available",
            action="store_true",
            help="Only free nodes: available, not in maintenance, without an instance, and offered by placement.",
        )
        parser.add_argument(
            "--limit", type=positive, metavar="<number>", help="List at most this many nodes; the default is all."
        )
        parser.add_argument("--long", action="store_true", help="Show traits in the table, too; documents have them.")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Iterable[Any]]:
        """Return titles and rows."""
        client = client_of(self.app)
        nodes = _nodes(client, filters(parsed_args), parsed_args.limit)
        if parsed_args.available:
            nodes = _offered(client, nodes)
        rows = list(islice(nodes, parsed_args.limit))
        self.fits = bool(rows)
        if not rows:
            unknown = about_unknown(client, parsed_args.resource_class, parsed_args.group)
            self.log.warning("%s", unknown or _EXPLAIN)
        if not is_table(parsed_args):
            return _TITLES, [_row(node) for node in rows]
        columns = len(_TABLE) - (not parsed_args.long)
        return _TABLE[:columns], [_row(node)[:columns] for node in rows]


def positive(text: str) -> int:
    """Return the number in ``text``, of 1 at least; for argparse."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 9 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer of 1 or more")
    return int(text)


def filters(parsed_args: argparse.Namespace) -> list[tuple[str, str]]:
    """Return the filters of the bare metal API's list of nodes that the options mean."""
    if len(parsed_args.any_traits) > 1:
        raise UsageError("--any-trait can be given once here, with all alternatives: A,B,C.")
    traits = {
        "traits": parsed_args.traits,
        "not-traits-any": parsed_args.without_traits,
        "traits-any": parsed_args.any_traits,
    }
    pairs = [(name, ",".join(split(values))) for name, values in traits.items() if values]
    if parsed_args.resource_class is not None:
        pairs.append(("resource_class", parsed_args.resource_class))
    if parsed_args.group is not None:
        pairs.append(("conductor_group", parsed_args.group))
    if parsed_args.domain is not None:
        pairs.append(("domain", parsed_args.domain))
    return pairs + (list(_AVAILABLE) if parsed_args.available else [])


def _nodes(client: Client, pairs: list[tuple[str, str]], limit: int | None) -> Iterator[dict[str, Any]]:
    """Yield the nodes of the list, page by page as they are needed."""
    size = min(_PAGE, limit or _PAGE)
    marker: list[tuple[str, str]] = []
    while True:
        parameters = [*pairs, ("fields", ",".join(_FIELDS)), ("limit", str(size)), *marker]
        try:
            document = client.get("baremetal", "/nodes", parameters)
        except RequestFailed as error:
            raise _explained(error, pairs) from None
        nodes = document["nodes"]
        yield from nodes
        if not nodes or not document.get("next"):
            return
        marker = [("marker", nodes[-1]["uuid"])]


def _explained(error: RequestFailed, pairs: list[tuple[str, str]]) -> CommandError:
    """Return the error, with the reason if the service does not know the filters."""
    unknown = error.status == 400 and any(word in str(error).lower() for word in ("unknown argument", "unexpected"))
    for filters, word in ((("domain",), "domain"), (_TRAITS, "traits")):
        if unknown and any(name in filters for name, _ in pairs):
            return CommandError(f"This service does not filter nodes by {word}; Ironic does not. Its answer: {error}")
    return error


def _offered(client: Client, nodes: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the nodes that placement offers.

    It is queried once for each resource class. For callers without access to it, the scheduling API is queried for each
    node.
    """
    offered: dict[str, set[str]] = {}
    may_ask = True
    for node in nodes:
        name = node["resource_class"]
        if may_ask and name and name not in offered:
            try:
                offered[name] = _providers(client, placement_class(name))
            except RequestFailed as error:
                if error.status != 403:
                    raise
                may_ask = False
        if node["uuid"] in offered.get(name, ()) if may_ask else _is_offered(client, node["uuid"]):
            yield node


def _providers(client: Client, resource_class: str) -> set[str]:
    """Return the UUIDs of the providers that have one of a class free."""
    try:
        document = client.get("placement", "/resource_providers", [("resources", f"{resource_class}:1")])
    except RequestFailed as error:
        if error.status == 400:  # no node of the class has had a provider yet
            return set()
        raise
    return {provider["uuid"] for provider in document["resource_providers"]}


def _is_offered(client: Client, node: str) -> bool:
    try:
        offered: bool = client.get("scheduling", f"/nodes/{node}/availability")["offered"]
    except RequestFailed as error:
        if error.status == 404:  # it has been deleted
            return False
        raise
    return offered


def _row(node: dict[str, Any]) -> tuple[Any, ...]:
    *texts, traits = (node[name] for name in _FIELDS)
    return (*(TextColumn(text) for text in texts), ListColumn(sorted(traits)))
