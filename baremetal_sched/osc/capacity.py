"""openstack scheduling capacity"""

import argparse
from collections.abc import Iterable
from typing import Any

from osc_lib.command import command

from baremetal_sched.osc.client import FitsOrNot, UsageError, client_of
from baremetal_sched.osc.find import positive
from baremetal_sched.osc.holds import moment
from baremetal_sched.osc.query import about_unknown, add_domain_option, add_machine_options, split
from baremetal_sched.osc.tables import CountsColumn, HeldColumn, TextColumn

#: Short words for what the API calls otherwise.
_KEYS = {"class": "resource_class", "group": "conductor_group"}
_FILTERS = ("driver", "owner", "lessee", "shard")


class ShowCapacity(FitsOrNot, command.Lister):
    """Show how many machines are free, and why the others are not

    With --at-least, only rows with fewer free machines than this are shown. The exit status is then 3 if there is a
    row, and 0 otherwise; without --at-least it is 0.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument(
            "--by",
            metavar="<key>,<key>",
            action="append",
            default=[],
            help="What to count by: class, group, driver, owner, lessee, shard, trait:NAME (whether machines have it), "
            "or domain:LEVEL (domain:rack).",
        )
        parser.add_argument(
            "--at-least",
            type=positive,
            metavar="<number>",
            help="Show only rows where fewer machines than this are free.",
        )
        parser.add_argument(
            "--at", type=moment, metavar="<time>", help="Count the machines that will be free then, by known ends."
        )
        add_machine_options(parser)
        parser.add_argument("--group", metavar="<group>", help="The conductor group of the node.")
        add_domain_option(parser, "machines")
        for name in _FILTERS:
            parser.add_argument(f"--{name}", metavar=f"<{name}>", help=f"The {name} of the node.")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Iterable[Any]]:
        """Return titles and rows."""
        client = client_of(self.app)
        keys = [_KEYS.get(key, key) for key in split(parsed_args.by)]
        known = (*_KEYS.values(), *_FILTERS)
        wrong = [key for key in keys if key not in known and not key.startswith(("trait:", "domain:"))]
        if wrong:
            raise UsageError(f"--by {wrong[0]}: use {', '.join((*_KEYS, *_FILTERS))}, trait:NAME or domain:LEVEL.")
        parameters = [("group_by", ",".join(keys))] if keys else []
        parameters += _filters(parsed_args)
        if parsed_args.at_least is not None:
            parameters.append(("at_least", str(parsed_args.at_least)))
        if parsed_args.at is not None:
            parameters.append(("at", parsed_args.at))
        rows = client.get("scheduling", "/capacity", parameters)["capacity"]
        self.fits = parsed_args.at_least is None or not rows
        is_empty = not any(row["total"] for row in rows)
        if is_empty and (unknown := about_unknown(client, parsed_args.resource_class, parsed_args.group)):
            self.log.warning("%s", unknown)
        titles = [key if ":" in key else key.replace("_", " ").title() for key in keys]
        titles += ["Total", "Free", "Allocated", "Unavailable"]
        if not any(row.get("held") for row in rows):
            return titles, [_row(row, keys) for row in rows]
        return [*titles, "Holds"], [(*_row(row, keys), HeldColumn(row["held"])) for row in rows]


def _filters(parsed_args: argparse.Namespace) -> list[tuple[str, str]]:
    values = {
        "resource_class": parsed_args.resource_class,
        "conductor_group": parsed_args.group,
        "domain": parsed_args.domain,
        **{name: getattr(parsed_args, name) for name in _FILTERS},
        "traits": ",".join(split(parsed_args.traits)) or None,
        "not-traits-any": ",".join(split(parsed_args.without_traits)) or None,
    }
    values["traits-any"] = ",".join(split(parsed_args.any_traits)) or None
    return [(name, value) for name, value in values.items() if value is not None]


def _row(row: dict[str, Any], keys: list[str]) -> tuple[Any, ...]:
    named = (TextColumn(row[key]) for key in keys)
    return (*named, row["total"], row["free"], row["allocated"], CountsColumn(row["unavailable"]))
