"""openstack scheduling hold add, list, set, remove: holds of many machines"""

import argparse
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from osc_lib.command import command
from osc_lib.exceptions import CommandError

from baremetal_sched.members import HOLD
from baremetal_sched.osc.client import (
    Client,
    FitsOrNot,
    Pairs,
    RequestFailed,
    UsageError,
    client_of,
    path_of,
)
from baremetal_sched.osc.find import positive
from baremetal_sched.osc.holds import (
    TYPES,
    add_changes,
    add_new_hold,
    changes,
    moment,
    new_hold,
    row_of,
)
from baremetal_sched.osc.query import about_unknown, add_domain_option
from baremetal_sched.osc.tables import Document, ResultColumn, Table, TextColumn, add_long, chosen

#: The options that select nodes, besides --domain, and what they select by.
_FILTERS = {
    "--group": "conductor_group",
    "--class": "resource_class",
    "--driver": "driver",
    "--owner": "owner",
    "--lessee": "lessee",
    "--shard": "shard",
}


def _add_filters(parser: argparse.ArgumentParser) -> None:
    add_domain_option(parser)
    for option, name in _FILTERS.items():
        about = f"Only nodes with this {name.replace('_', ' ')}."
        parser.add_argument(option, dest=name, metavar=f"<{option.removeprefix('--')}>", help=about)


def _filters(parsed_args: argparse.Namespace) -> list[tuple[str, str]]:
    return [
        (name, value) for name in ("domain", *_FILTERS.values()) if (value := getattr(parsed_args, name)) is not None
    ]


#: The values of ``--asserted-by`` that stand for the caller and for everybody.
_ME, _ALL = "me", "all"

#: The columns of the list in a table for people, and the longest line of a reason in it.
_TABLE = ("Node", "Type", "State", "Asserted By", "Reason")
_WORDS = 24


def _add_choice(parser: argparse.ArgumentParser, prefix: str = "") -> None:
    """Add the options that choose holds by why and by whom they were asserted."""
    parser.add_argument(
        f"--{prefix}reason", dest="of_reason", metavar="<text>", help="Only holds with this reason, the whole text."
    )
    parser.add_argument(
        f"--{prefix}extra", dest="of_extra", metavar="<key=value>", help="Only holds with this value in their extra."
    )
    parser.add_argument("--asserted-by", metavar="<person>", help=_PERSON_HELP)


_PERSON_HELP = f"Only holds of this user, by name or id; {_ME}: your own; {_ALL}: those of everybody."


def _choice(parsed_args: argparse.Namespace) -> list[tuple[str, str]]:
    found = (("reason", parsed_args.of_reason), ("extra", parsed_args.of_extra))
    return [(name, value) for name, value in found if value is not None]


def _of_person(person: str) -> list[tuple[str, str]]:
    return [] if person == _ALL else [("asserted_by", person)]


def _nothing(command: FitsOrNot, client: Client, parsed_args: argparse.Namespace) -> list[Any]:
    """Return no holds, and warn of a class or a conductor group that no machine has."""
    if unknown := about_unknown(client, parsed_args.resource_class, parsed_args.conductor_group):
        command.log.warning("%s", unknown)
    return []


class ListHolds(FitsOrNot, command.Lister):
    """List holds: why machines must not be used, who asserted each hold, and its times"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("--type", choices=HOLD.words["type"], help="Only holds of this type.")
        parser.add_argument("--since", type=moment, metavar="<time>", help="Only holds that end after this time.")
        parser.add_argument("--until", type=moment, metavar="<time>", help="Only holds that start before this time.")
        begun = parser.add_mutually_exclusive_group()
        begun.add_argument("--active", action="store_const", const="true", help="Only holds that have begun.")
        begun.add_argument(
            "--planned", dest="active", action="store_const", const="false", help="Only holds that have not begun."
        )
        parser.add_argument("--own", action="store_const", const="true", help="Only holds of your project.")
        _add_choice(parser)
        _add_filters(parser)
        parser.add_argument("--limit", type=positive, metavar="<number>", help="At most this many; the default is all.")
        add_long(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return titles and rows."""
        names = ("type", "since", "until", "active", "own")
        parameters = [(name, value) for name in names if (value := getattr(parsed_args, name)) is not None]
        parameters += [*_choice(parsed_args), *_of_person(parsed_args.asserted_by or _ALL), *_filters(parsed_args)]
        client = client_of(self.app)
        found = list(client.pages("/holds", "maintenance", parameters, parsed_args.limit))
        rows = found or _nothing(self, client, parsed_args)
        return chosen(parsed_args, HOLD.titles, (row_of(each, _WORDS) for each in rows), _TABLE)


class AddHolds(FitsOrNot, command.Lister):
    """Assert the same hold of all nodes that the options select, or of none"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument(
            "--node",
            action="append",
            dest="nodes",
            metavar="<node>",
            help="UUID or name of a node (repeat for several).",
        )
        _add_filters(parser)
        add_new_hold(parser)
        parser.add_argument("--skip-refused", action="store_true", help="Hold the other nodes if some are refused.")
        parser.add_argument("--dry-run", action="store_true", help="Only say which nodes would be held.")

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return titles and rows."""
        selected = {**dict(_filters(parsed_args)), **({"nodes": parsed_args.nodes} if parsed_args.nodes else {})}
        if not selected:
            raise UsageError(f"Say which nodes: --node, --domain, {', '.join(_FILTERS)}.")
        flags = {name: True for name in ("skip_refused", "dry_run") if getattr(parsed_args, name)}
        body = {**new_hold(parsed_args), **flags, "filter": selected}
        answer = client_of(self.app).request("scheduling", "POST", "/holds", body)
        nodes = answer.get("nodes") or [
            {
                "uuid": each["node_uuid"],
                "name": each["node_name"],
                "hold": each["uuid"],
                "refusal": None,
                "existing": False,
            }
            for each in answer["maintenance"]
        ]
        if flags.keys() == {"dry_run"} and any(each["refusal"] for each in nodes):
            self.log.warning("Nothing would be held, because some nodes are refused: --skip-refused leaves them out.")
        if bookings := answer.get("bookings"):
            text = "Bookings that have these machines: %d get others, %d are left short."
            self.log.warning(text, bookings["moved"], bookings["short"])
        held = "would be held" if parsed_args.dry_run else "held"
        results = (
            f"refused: {each['refusal']}" if each["refusal"] else "held already" if each["existing"] else held
            for each in nodes
        )
        return ("Node", "Hold", "Result"), [
            (TextColumn(each["name"] or each["uuid"]), each["hold"], ResultColumn(result))
            for each, result in zip(nodes, results, strict=True)
        ]


class _ChosenHolds(FitsOrNot, command.Lister):
    """Do the same with many holds: named ones, or chosen ones on the nodes that options select.

    Chosen are only the caller's own, unless options name another person; how many of others are left is said. The exit
    status is 1 if one was refused. ``prefix``: that of the options which choose by reason and extra.
    """

    method = done = prefix = ""
    refused = False

    @abstractmethod
    def body(self, parsed_args: argparse.Namespace) -> Document | None:
        """Return the body of the request for each hold. Raises UsageError."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("holds", nargs="*", metavar="<hold>", help="UUID of a hold.")
        parser.add_argument("--type", choices=TYPES, help="Only holds of this type.")
        _add_choice(parser, self.prefix)
        _add_filters(parser)
        parser.add_argument("--dry-run", action="store_true", help=f"Only say which would be {self.done}.")
        add_long(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return titles and rows."""
        choice = [*([("type", parsed_args.type)] if parsed_args.type else []), *_choice(parsed_args)]
        filters = _filters(parsed_args)
        is_clear = not (choice or filters or parsed_args.asserted_by) if parsed_args.holds else bool(choice)
        if not is_clear:
            options = f"--type, --{self.prefix}reason or --{self.prefix}extra"
            raise UsageError(f"Name holds, or choose them by {options}; then options also select nodes and a person.")
        body, client = self.body(parsed_args), client_of(self.app)
        if parsed_args.holds:
            found = list(_named(client, parsed_args.holds))
        else:
            found = self._chosen(client, [*choice, *filters], parsed_args) or _nothing(self, client, parsed_args)
        rows = [(*row_of(hold), ResultColumn(self._act(client, hold, body, parsed_args.dry_run))) for hold in found]
        return chosen(parsed_args, (*HOLD.titles, "Result"), rows, ("Hold", "Node", "Result"))

    def _chosen(self, client: Client, choice: Pairs, parsed_args: argparse.Namespace) -> list[Document]:
        """Return the holds of the person, and say how many of others there are."""
        person = parsed_args.asserted_by or _ME
        found = list(client.pages("/holds", "maintenance", [*choice, *_of_person(person)], None))
        if person != _ALL:
            left = sum(1 for _ in client.pages("/holds", "maintenance", choice, None)) - len(found)
            if left > 0:
                are = "hold of others is" if left == 1 else "holds of others are"
                self.log.warning("%d %s left: --asserted-by %s includes those of everybody.", left, are, _ALL)
        return found

    def _act(self, client: Client, hold: Document, body: Document | None, dry_run: bool) -> str:
        if dry_run:
            return f"would be {self.done}"
        try:
            client.request("scheduling", self.method, path_of("nodes", hold["node_uuid"], "holds", hold["uuid"]), body)
        except RequestFailed as error:
            if error.status not in (403, 404, 409):
                raise
            self.refused = True
            return f"refused: {error}"
        return self.done

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command, and return its exit status."""
        status: int = super().run(parsed_args)
        return status or int(self.refused)


def _named(client: Client, uuids: Iterable[str]) -> Iterator[Document]:
    """Yield the holds with these UUIDs. Raises CommandError if there is none with one of them."""
    uuids = [each.lower() for each in uuids]
    found = {hold["uuid"]: hold for hold in client.pages("/holds", "maintenance", (), None)}
    unknown = [uuid for uuid in uuids if uuid not in found]
    if unknown:
        raise CommandError(f"There is no hold {unknown[0]} that you may see.")
    yield from (found[uuid] for uuid in dict.fromkeys(uuids))


class SetHolds(_ChosenHolds):
    """Change the end, the reason or the extra of named holds, or of your own holds on many nodes"""

    method, done, prefix = "PATCH", "changed", "with-"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        super().add_options(parser)
        add_changes(parser)

    def body(self, parsed_args: argparse.Namespace) -> Document | None:
        """Return the changes. Raises UsageError if there are none."""
        return changes(parsed_args)


class RemoveHolds(_ChosenHolds):
    """Release named holds, or your own holds on many nodes; it is said how many of others are left"""

    method, done = "DELETE", "released"

    def body(self, parsed_args: argparse.Namespace) -> None:
        """Return no body."""
