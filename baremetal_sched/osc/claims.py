"""openstack scheduling claim list, show, cancel"""

import argparse
from typing import Any

from osc_lib.command import command

from baremetal_sched.members import CLAIM
from baremetal_sched.osc.client import WithOptions, client_of, path_of
from baremetal_sched.osc.find import positive
from baremetal_sched.osc.query import placement_class
from baremetal_sched.osc.tables import Document, Table, TextColumn, add_long, chosen, lines, plain, row, shown
from baremetal_sched.osc.waiting import duration

_TABLE = ("Claim", "State", "Class", "Position", "Deadline")
_POLL = 30


class ListClaims(WithOptions, command.Lister):
    """List claims: those that wait, and those that got a machine"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("--state", choices=CLAIM.words["state"], help="Only claims in this state now.")
        parser.add_argument("--kind", choices=CLAIM.words["kind"], help="Only claims of this kind.")
        parser.add_argument("--project-id", metavar="<project>", help="Only claims of this project.")
        parser.add_argument("--class", dest="resource_class", metavar="<class>", help="Only claims of this class.")
        parser.add_argument("--limit", type=positive, metavar="<number>", help="At most this many; the default is all.")
        add_long(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return titles and rows."""
        text = parsed_args.resource_class
        values = {
            "state": parsed_args.state,
            "kind": parsed_args.kind,
            "project_id": parsed_args.project_id,
            "resource_class": text if text is None or text.startswith("CUSTOM_") else placement_class(text),
        }
        parameters = [(name, value) for name, value in values.items() if value is not None]
        documents = client_of(self.app).pages("/claims", "claims", parameters, parsed_args.limit)
        return chosen(parsed_args, CLAIM.titles, map(_row, documents), _TABLE)


def _row(claim: Document) -> tuple[Any, ...]:
    machines = lines(map(plain, claim["allocations"]))
    return row(CLAIM, {**claim, "allocations": machines, "consumer": TextColumn(claim["consumer"]["project_id"])})


class ShowClaim(WithOptions, command.ShowOne):
    """Show a claim; with --wait, first wait until it is decided"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("claim", metavar="<claim>", help="UUID of the claim, which is that of its consumer.")
        parser.add_argument("--wait", type=duration, default=0, metavar="<time>", help="At most 30 seconds, as in 30s.")

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the names and values of the claim's members."""
        wait = [("wait", str(min(parsed_args.wait, _POLL)))] if parsed_args.wait else []
        return shown(client_of(self.app).get("scheduling", path_of("claims", parsed_args.claim), wait))


class CancelClaim(WithOptions):
    """Cancel claims: they no longer wait, and give their machines back"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("claims", nargs="+", metavar="<claim>", help="UUID of a claim.")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Delete the claims."""
        client = client_of(self.app)
        for claim in parsed_args.claims:
            client.request("scheduling", "DELETE", path_of("claims", claim))
