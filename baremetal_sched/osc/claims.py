"""openstack scheduling claim list, show, cancel"""

import argparse
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from osc_lib.command import command

from baremetal_sched.osc.client import client_of
from baremetal_sched.osc.find import positive
from baremetal_sched.osc.query import placement_class
from baremetal_sched.osc.tables import TextColumn, TimeColumn, add_long, chosen, lines, plain
from baremetal_sched.osc.waiting import CLAIMED, WAITING, duration

_STATES = (WAITING, CLAIMED, "timed_out", "failed", "released")
_KINDS = ("claim", "allocation", "server")
_TITLES = ("Claim", "Kind", "State", "Class", "Position", "Asked At", "Deadline", "Project", "Machine", "Reason")
_TABLE = ("Claim", "State", "Class", "Position", "Deadline")
_POLL = 30


class ListClaims(command.Lister):
    """List who waits for what, since when and why, and what was claimed"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command's options."""
        parser = super().get_parser(prog_name)
        parser.add_argument("--state", choices=_STATES, help="Only claims in this state now.")
        parser.add_argument("--kind", choices=_KINDS, help="Only claims of this kind.")
        parser.add_argument("--project-id", metavar="<project>", help="Only claims of this project.")
        parser.add_argument("--class", dest="resource_class", metavar="<class>", help="Only claims of this class.")
        parser.add_argument("--limit", type=positive, metavar="<number>", help="At most this many; the default is all.")
        add_long(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Iterable[Any]]:
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
        return chosen(parsed_args, _TITLES, map(_row, documents), _TABLE)


def _row(claim: dict[str, Any]) -> tuple[Any, ...]:
    machine = TextColumn(lines(claim["allocations"]))
    asked_at, deadline = (TimeColumn(claim[name]) for name in ("asked_at", "deadline"))
    facts = (claim["uuid"], claim["kind"], claim["state"], TextColumn(claim["resource_class"]), claim["position"])
    project = TextColumn(claim["consumer"]["project_id"])
    return (*facts, asked_at, deadline, project, machine, TextColumn(claim["reason"]))


class ShowClaim(command.ShowOne):
    """Show a claim; with --wait, first wait until it is decided"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command's options."""
        parser = super().get_parser(prog_name)
        parser.add_argument("claim", metavar="<claim>", help="UUID of the claim, which is that of its consumer.")
        parser.add_argument("--wait", type=duration, default=0, metavar="<time>", help="At most 30 seconds, as in 30s.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Iterable[Any]]:
        """Return the names and values of its fields."""
        wait = [("wait", str(min(parsed_args.wait, _POLL)))] if parsed_args.wait else []
        claim = client_of(self.app).get("scheduling", f"/claims/{quote(parsed_args.claim, safe='')}", wait)
        return tuple(claim), tuple(TextColumn(value) if isinstance(value, str) else value for value in claim.values())


class CancelClaim(command.Command):
    """End the waiting of claims, and give back what they have"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command's options."""
        parser = super().get_parser(prog_name)
        parser.add_argument("claims", nargs="+", metavar="<claim>", help="UUID of a claim.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Delete the claims."""
        client = client_of(self.app)
        for claim in parsed_args.claims:
            client.request("scheduling", "DELETE", f"/claims/{quote(plain(claim), safe='')}")
