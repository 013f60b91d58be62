"""openstack scheduling explain node"""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from cliff.columns import FormattableColumn
from osc_lib.command import command

from baremetal_sched.osc.client import client_of
from baremetal_sched.osc.explain import add_request_options, is_request, request_body, shown
from baremetal_sched.osc.output import FitsOrNot, lines, plain

_ORDER = (
    *("node", "name", "resource_class", "offered", "verdict", "summary", "conditions", "relaxations"),
    *("reasons", "remarks"),
)


class ExplainNode(FitsOrNot, command.ShowOne):
    """Explain why a node is or is not on offer, or does or does not fit a request

    With the options of a request (as for 'openstack scheduling explain') it is said of each condition whether it
    holds. The exit status is 0 if the node fits the request or, without one, if placement offers it now, and 3 if not.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command's options."""
        parser = super().get_parser(prog_name)
        parser.add_argument("node", metavar="<node>", help="UUID or name of the node")
        add_request_options(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        """Return the fields of the answer and their values."""
        client = client_of(self.app)
        node = quote(parsed_args.node, safe="")
        if is_request(parsed_args):
            body = request_body(client, parsed_args)
            document = client.request("scheduling", "POST", f"/explanations/nodes/{node}", body)
            self.fits = document["verdict"] == "fits"
        else:
            document = client.get("scheduling", f"/nodes/{node}/availability")
            self.fits = document["offered"]
        names, values = shown(document, _ORDER)
        return names, [
            Findings(document[name]) if name in ("reasons", "remarks") else value
            for name, value in zip(names, values, strict=True)
        ]


class Findings(FormattableColumn[list[dict[str, str]]]):
    """What keeps a node from being used, and what to do about it."""

    def human_readable(self) -> str:
        return lines(f"{plain(each['reason'])} {plain(each['remedy'])}".strip() for each in self._value)
