"""openstack scheduling claim list, show, set, cancel"""

import argparse
from collections.abc import Mapping
from typing import Any

from cliff.columns import FormattableColumn
from osc_lib.command import command
from osc_lib.exceptions import CommandError

from baremetal_sched.members import CLAIM
from baremetal_sched.osc.client import RequestFailed, WithOptions, client_of, path_of
from baremetal_sched.osc.ends import ENDED, add_new_end, end_of, until_column
from baremetal_sched.osc.find import positive
from baremetal_sched.osc.names import as_written, classes_of, node_names, placement_class
from baremetal_sched.osc.query import about_unknown
from baremetal_sched.osc.tables import Document, Table, TextColumn, TimeColumn, is_table, lines, plain, row, shown
from baremetal_sched.osc.waiting import WAITING, duration

#: The columns of the list in a table for people; where claims have ends, the last is when.
_TABLE = ("Claim", "State", "Class", "Machine", "Since")
_WITH_ENDS = (*_TABLE[:-1], "Until")
_POLL = 30
#: Machines of a claim that the table names; it counts the others.
_NAMED = 3


class ListClaims(WithOptions, command.Lister):
    """List claims: those that wait, and those that got a machine"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("--state", choices=CLAIM.words["state"], help="Only claims in this state now.")
        parser.add_argument("--kind", choices=CLAIM.words["kind"], help="Only claims of this kind.")
        parser.add_argument("--project-id", metavar="<project>", help="Only claims of this project.")
        parser.add_argument("--class", dest="resource_class", metavar="<class>", help="Only claims of this class.")
        parser.add_argument(
            "--late",
            action="store_const",
            const="true",
            help="Only what has come to its end and could not be given back yet, servers and allocations included.",
        )
        parser.add_argument("--limit", type=positive, metavar="<number>", help="At most this many; the default is all.")
        parser.add_argument("--long", action="store_true", help="Show all columns in the table; documents have them.")

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return titles and rows."""
        client, text = client_of(self.app), parsed_args.resource_class
        values = {
            "state": parsed_args.state,
            "kind": parsed_args.kind,
            "project_id": parsed_args.project_id,
            "resource_class": text if text is None or text.startswith("CUSTOM_") else placement_class(text),
            "late": parsed_args.late,
        }
        parameters = [(name, value) for name, value in values.items() if value is not None]
        documents = list(client.pages("/claims", "claims", parameters, parsed_args.limit))
        if not documents and text and not text.startswith("CUSTOM_") and (unknown := about_unknown(client, text)):
            self.log.warning("%s", unknown)
        if not is_table(parsed_args) or parsed_args.long:
            return CLAIM.titles, map(_row, documents)
        names = node_names(client, {node for claim in documents for node in claim["allocations"]})
        classes = classes_of(client) if documents else {}
        have_ends = any(_has_end(claim) for claim in documents)
        rows = [_short(claim, names, classes, have_ends=have_ends) for claim in documents]
        return _WITH_ENDS if have_ends else _TABLE, rows


def _row(claim: Document) -> tuple[Any, ...]:
    machines = lines(map(plain, claim["allocations"]))
    return row(CLAIM, {**claim, "allocations": machines, "consumer": TextColumn(claim["consumer"]["project_id"])})


def _has_end(claim: Document) -> bool:
    return any(claim.get(name) is not None for name in ("until", "for"))


def _short(
    claim: Document, names: Mapping[str, str], classes: Mapping[str, str], *, have_ends: bool = False
) -> tuple[Any, ...]:
    """Return the cells of the table: a claim that waits has its position, and the time of its request. ``have_ends``:
    times are those of the ends."""
    machines = [plain(names.get(uuid, uuid)) for uuid in claim["allocations"]]
    more = [f"and {len(machines) - _NAMED} more"] if len(machines) > _NAMED else []
    waits = claim["state"] == WAITING
    place = f"{claim['state']} ({claim['position']})" if waits and claim["position"] else claim["state"]
    since = TimeColumn(claim["asked_at"] if waits else claim["decided_at"] or claim["asked_at"])
    return (
        claim["uuid"],
        claim["end"] if have_ends and claim["end"] in ENDED else place,
        TextColumn(as_written(claim["resource_class"], classes)),
        lines([*machines[:_NAMED], *more]),
        until_column(claim) if have_ends else since,
    )


def _shown(claim: Document) -> Table:
    return shown(claim, allocations=_Allocations(claim["allocations"]), machines=_Machines(claim["machines"]))


class ShowClaim(WithOptions, command.ShowOne):
    """Show a claim; with --wait, first wait until it is decided"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("claim", metavar="<claim>", help="UUID of the claim, which is that of its consumer.")
        parser.add_argument("--wait", type=duration, default=0, metavar="<time>", help="At most 30 seconds, as in 30s.")

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the names and values of the claim's members."""
        wait = [("wait", str(min(parsed_args.wait, _POLL)))] if parsed_args.wait else []
        return _shown(client_of(self.app).get("scheduling", path_of("claims", parsed_args.claim), wait))


class SetClaim(WithOptions, command.ShowOne):
    """Set, move or remove the end of a claim, at which its machines go back by themselves

    It is also for allocations of the bare metal API and for servers, by their UUIDs.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("claim", metavar="<claim>", help="UUID of the claim, the allocation or the server.")
        add_new_end(parser, required=True)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the names and values of the claim's members."""
        path = path_of("claims", parsed_args.claim)
        return _shown(client_of(self.app).request("scheduling", "PATCH", path, end_of(parsed_args)))


class _Allocations(FormattableColumn[dict[str, Any]]):
    """What a claim has of each provider, a line each."""

    def human_readable(self) -> str:
        return lines(f"{uuid}: {self._amounts(each['resources'])}" for uuid, each in self._value.items())

    @staticmethod
    def _amounts(resources: Mapping[str, int]) -> str:
        return ", ".join(f"{amount} {plain(name)}" for name, amount in resources.items())


class _Machines(FormattableColumn[list[Document]]):
    """The machines of a claim with their domains, each with its consumer on a line below."""

    def human_readable(self) -> str:
        return lines(map(self._of_machine, self._value))

    @staticmethod
    def _of_machine(machine: Document) -> str:
        domains = ", ".join(f"{plain(level)} {plain(name)}" for level, name in machine.get("domains", {}).items())
        within = f" ({domains})" if domains else ""
        return f"{machine['number']}: node {machine['node']}{within}\n   consumer {machine['consumer']}"


class CancelClaim(WithOptions):
    """Cancel claims: they no longer wait, and give their machines back

    The exit status is 1 if one of them is not there; the others are canceled.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("claims", nargs="+", metavar="<claim>", help="UUID of a claim.")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Delete the claims."""
        client, missing = client_of(self.app), []
        for claim in parsed_args.claims:
            try:
                client.get("scheduling", path_of("claims", claim))
            except RequestFailed as error:
                if error.status != 404:
                    raise
                missing.append(str(error))
                continue
            client.request("scheduling", "DELETE", path_of("claims", claim))
        if missing:
            raise CommandError(" ".join(missing))
