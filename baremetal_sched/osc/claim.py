"""openstack scheduling claim"""

import argparse
import uuid
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from keystoneauth1.exceptions import ClientException as NoAnswer
from osc_lib.command import command
from osc_lib.exceptions import CommandError

from baremetal_sched import commands
from baremetal_sched.osc.claiming import ClaimChoice, Consumers, NothingFits, claim
from baremetal_sched.osc.client import Client, FitsOrNot, RequestFailed, UsageError, client_of
from baremetal_sched.osc.find import positive
from baremetal_sched.osc.query import (
    about_unknown,
    add_machine_options,
    add_query_options,
    candidate_query,
    placement_class,
    trait_entries,
)
from baremetal_sched.osc.tables import CountsColumn, TextColumn, is_table
from baremetal_sched.osc.waiting import ProgressLine, claim_together, claim_when_free, duration

#: What placement itself notes where it does not know the project and the user of a consumer.
_UNKNOWN = "00000000-0000-0000-0000-000000000000"
_TITLES = ("Consumer", "Node", "Name", "Resources")
_TABLE = ("Consumer", "Node", "Resources")
_MOST = 1000


class Claim(FitsOrNot, command.Lister):
    """Choose machines and claim them, now or with --wait when they are free

    The request is a query of allocation candidates (--resource, --required, ... or --query), or a class and traits
    of machines (--class, --trait, ...). If another client was faster, other machines are tried. With --count
    all machines are claimed or none. The exit status is 0 if they are, and 3 if not as many fit.

    'openstack resource provider allocation delete <consumer>' releases a machine; one for which --wait was given, also
    'openstack scheduling claim cancel <consumer>'.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command's options."""
        parser = super().get_parser(prog_name)
        add_query_options(parser)
        add_machine_options(parser)
        parser.add_argument("--count", type=positive, default=1, metavar="<number>", help="How many machines to claim.")
        parser.add_argument(
            "--spread", type=_spread, metavar="<level>:<number>", help="At most so many in one domain of the level."
        )
        parser.add_argument("--pack", metavar="<level>", help="All in one domain of the level.")
        parser.add_argument("--machine-group", metavar="<name>", help="Name of a group in the project that may grow.")
        parser.add_argument(
            "--consumer",
            action="append",
            default=[],
            metavar="<uuid>",
            help="UUID of the consumer; a new one by default. Repeatable.",
        )
        parser.add_argument(
            "--consumer-type", default="INSTANCE", metavar="<type>", help="Type of the consumer. Default: INSTANCE."
        )
        parser.add_argument(
            "--project-id", metavar="<project>", help="Project of the consumer; by default that of the login."
        )
        parser.add_argument("--user-id", metavar="<user>", help="User of the consumer; by default that of the login.")
        parser.add_argument(
            "--attempts",
            type=positive,
            default=10,
            metavar="<number>",
            help="Try at most this many times. Default: 10.",
        )
        parser.add_argument(
            "--wait", type=duration, default=0, metavar="<time>", help="Wait until machines are free: 90, 30m, 1h, 2d."
        )
        parser.add_argument(
            "--even-if-impossible", action="store_true", help="Wait even if no machine would fit if all were free."
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Iterable[Any]]:
        """Return titles and rows."""
        client = client_of(self.app)
        query = _query(parsed_args)
        together = _together(parsed_args)
        consumers = _consumers(client, parsed_args, 1 if together else parsed_args.count)
        try:
            if together:
                rows = _claimed_together(client, query, consumers, parsed_args, together)
                self.log.warning("The claim is %s.", consumers.uuids[0])
                return _TITLES, rows
            claimed = _claimed(client, query, consumers, parsed_args)
        except RequestFailed as error:
            unknown = about_unknown(client, parsed_args.resource_class) if error.status == 400 else ""
            raise UsageError(unknown) if unknown else _in_options(error) from None
        except NothingFits as error:
            self.fits = False
            if together:
                self.log.warning("%s", error)
            else:
                self.log.warning("%s With the same options this says why: %s", error, commands.EXPLAIN)
            return _TITLES, []
        rows = [_row(client, *pair) for pair in zip(consumers.uuids, claimed, strict=True)]
        if not is_table(parsed_args):
            return _TITLES, rows
        return _TABLE, [(consumer, name if name._value else node, amounts) for consumer, node, name, amounts in rows]


def _spread(text: str) -> dict[str, Any]:
    level, _, number = text.partition(":")
    return {"by": level, "at_most": positive(number or "1")}


def _together(parsed_args: argparse.Namespace) -> dict[str, Any]:
    """Return the members of the body that ask for several machines in one request; empty if there are none."""
    pack = {"by": parsed_args.pack} if parsed_args.pack else None
    members = {"spread": parsed_args.spread, "pack": pack, "group": parsed_args.machine_group}
    given = {name: value for name, value in members.items() if value}
    return given | {"count": parsed_args.count} if given else {}


def _claimed_together(
    client: Client, query: str, consumers: Consumers, parsed_args: argparse.Namespace, together: dict[str, Any]
) -> list[tuple[Any, ...]]:
    facts = {"project_id": consumers.project, "user_id": consumers.user, "type": consumers.type}
    body = {
        "query": query,
        "wait": parsed_args.wait,
        "even_if_impossible": parsed_args.even_if_impossible,
        "consumer": {"uuid": consumers.uuids[0], **facts},
        **together,
    }
    progress = ProgressLine()
    try:
        claim = claim_together(client, body, parsed_args.wait, progress.say)
    finally:
        progress.end()
    held, machines = claim["allocations"], [(each["consumer"], each["node"]) for each in claim["machines"]]
    return [_row(client, consumer, ClaimChoice(node, {node: held[node]})) for consumer, node in machines]


def _claimed(client: Client, query: str, consumers: Consumers, parsed_args: argparse.Namespace) -> list[ClaimChoice]:
    if not parsed_args.wait:
        return claim(client, query, consumers, parsed_args.attempts)
    progress = ProgressLine()
    try:
        return claim_when_free(
            client,
            query,
            consumers,
            parsed_args.wait,
            progress.say,
            even_if_impossible=parsed_args.even_if_impossible,
        )
    finally:
        progress.end()


def _in_options(error: RequestFailed) -> RequestFailed:
    """Return an error whose message names the option of this command, not the field of the API."""
    return RequestFailed(str(error).replace("even_if_impossible", "--even-if-impossible"), error.status, error.code)


def _query(parsed_args: argparse.Namespace) -> str:
    query = candidate_query(parsed_args)
    traits = trait_entries(parsed_args)
    if (query is None) == (parsed_args.resource_class is None):
        raise UsageError("Specify the request in one way: --resource CLASS=AMOUNT, --query, or --class.")
    if query is not None:
        if traits:
            raise UsageError("--trait, --without-trait and --any-trait go with --class. With others: --required.")
        return query
    together = ",".join(trait for trait in traits if not trait.startswith("in:"))
    pairs = [("resources", f"{placement_class(parsed_args.resource_class)}:1")]
    pairs += [("required", together)] if together else []
    pairs += [("required", trait) for trait in traits if trait.startswith("in:")]
    return urlencode(pairs)


def _consumers(client: Client, parsed_args: argparse.Namespace, count: int) -> Consumers:
    """Return the consumers of the claim. Raises UsageError for too many, and for invalid UUIDs."""
    uuids_given = []
    for text in parsed_args.consumer:
        try:
            uuids_given.append(str(uuid.UUID(text)))
        except ValueError:
            raise UsageError(f"--consumer {text}: it must be a UUID.") from None
    count = max(count, len(uuids_given)) if parsed_args.count == 1 else count
    if count > _MOST:
        raise UsageError(f"At most {_MOST} machines can be claimed at once.")
    if uuids_given and (len(set(uuids_given)) != len(uuids_given) or len(uuids_given) != count):
        raise UsageError(f"--consumer must be there once for each of {count} machines, with different UUIDs.")
    uuids = uuids_given or [str(uuid.uuid4()) for _ in range(count)]
    project = parsed_args.project_id or client.session.get_project_id() or _UNKNOWN
    user = parsed_args.user_id or client.session.get_user_id() or _UNKNOWN
    return Consumers(uuids, not uuids_given, project, user, parsed_args.consumer_type)


def _row(client: Client, consumer: str, choice: ClaimChoice) -> tuple[Any, ...]:
    amounts: dict[str, int] = {}
    for each in choice.allocations.values():
        for resource_class, amount in each["resources"].items():
            amounts[resource_class] = amounts.get(resource_class, 0) + amount
    return consumer, choice.node, TextColumn(_name_of(client, choice.node)), CountsColumn(amounts)


def _name_of(client: Client, node: str) -> str | None:
    """Return the name of the node, None if it has none or the bare metal API does not say it: it is claimed anyway."""
    try:
        name: str | None = client.get("baremetal", f"/nodes/{node}", [("fields", "name")])["name"]
    except (CommandError, NoAnswer):
        return None
    return name
