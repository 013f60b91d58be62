"""openstack scheduling claim"""

import argparse
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from osc_lib.command import command

from baremetal_sched.osc.bookings import add_booking, booking_of
from baremetal_sched.osc.claiming import ClaimChoice, Consumers, NothingFits, claim
from baremetal_sched.osc.client import Client, FitsOrNot, RequestFailed, UsageError, client_of
from baremetal_sched.osc.ends import add_new_end, end_of
from baremetal_sched.osc.find import positive
from baremetal_sched.osc.names import as_written, node_names
from baremetal_sched.osc.query import about_class, add_machine_options, add_query_options, only_query, written_classes
from baremetal_sched.osc.several import add_rules, rules_of, word
from baremetal_sched.osc.tables import CountsColumn, DomainsColumn, TextColumn, is_table
from baremetal_sched.osc.waiting import ProgressLine, duration, make_claim

#: What placement itself notes where it does not know the project and the user of a consumer.
_UNKNOWN = "00000000-0000-0000-0000-000000000000"
_TITLES = ("Consumer", "Node", "Name", "Domains", "Resources")
_TABLE = ("Consumer", "Node", "Resources")
#: How many machines the scheduling API claims at once, and the placement API for this command.
_AT_ONCE, _MOST = 100, 1000
#: Codes of requests that only the placement API claims.
_NOT_TAKEN = ("scheduling.cannot_wait", "scheduling.machines_share")
_NO_RIGHTS = (
    "This request is claimed through the placement API, which is not for you: {error} You may claim --count at most "
    f"{_AT_ONCE} machines of one class at once, with --consumer given once."
)

#: Consumers (UUIDs) with what each has.
Claimed = Sequence[tuple[str, ClaimChoice]]


class Claim(FitsOrNot, command.Lister):
    """Choose machines and claim them, now or with --wait when they are free

    The request is a query of allocation candidates (--resource, --required, ... or --query), or a class and traits
    of machines (--class, --trait, ...), of the machines that the project may use. All machines are claimed, or none.
    The exit status is 0 if they are, and 3 if not as many fit.

    'openstack scheduling claim cancel <claim>' gives the machines back. Without it the claim stays in the list of
    claims, also when they were released otherwise.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        add_query_options(parser)
        add_machine_options(parser)
        parser.add_argument("--count", type=positive, default=1, metavar="<number>", help="How many machines to claim.")
        add_rules(parser)
        parser.add_argument(
            "--machine-group", type=word, metavar="<name>", help="Name of the machine group to join or to make."
        )
        parser.add_argument(
            "--consumer",
            action="append",
            default=[],
            metavar="<uuid>",
            help="UUID of the claim, which is that of the consumer of one machine; a new one by default. Or repeat it "
            "with the UUID of each machine's consumer.",
        )
        parser.add_argument(
            "--consumer-type", default="INSTANCE", metavar="<type>", help="Type of the consumer. Default: INSTANCE."
        )
        parser.add_argument(
            "--project-id", metavar="<project>", help="Project of the consumer; by default the caller's."
        )
        parser.add_argument("--user-id", metavar="<user>", help="User of the consumer; by default the caller.")
        parser.add_argument(
            "--attempts",
            type=positive,
            default=10,
            metavar="<number>",
            help="Try at most this many times. Default: 10. It counts only for requests to the placement API: for more "
            "than 100 machines, with several --consumer, and for what is no class of machines.",
        )
        parser.add_argument(
            "--wait", type=duration, default=0, metavar="<time>", help="Wait until machines are free: 90, 30m, 1h, 2d."
        )
        parser.add_argument(
            "--even-if-impossible", action="store_true", help="Wait even if no machine would fit if all were free."
        )
        add_new_end(parser)
        add_booking(parser)
        parser.add_argument(
            "--strict-end", action="store_true", help="Take no machine for which a hold is planned before the end."
        )

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Iterable[Any]]:
        """Return titles and rows."""
        client = client_of(self.app)
        query = only_query(parsed_args)
        try:
            claimed = self._claimed(client, query, parsed_args)
        except NothingFits as error:
            if unknown := about_class(client, parsed_args.resource_class):
                raise UsageError(unknown) from None
            self.fits = False
            self.log.warning("%s", as_written(self.in_options(str(error)), written_classes(parsed_args)))
            return _TITLES, []
        names = node_names(client, {choice.node for _, choice in claimed})
        rows = [_row(names, *each) for each in claimed]
        if not is_table(parsed_args):
            return _TITLES, rows
        shown = [_in_table(each, written_classes(parsed_args)) for each in rows]
        if any(choice.domains for _, choice in claimed):
            return ("Consumer", "Node", "Domains", "Resources"), shown
        return _TABLE, [(consumer, node, amounts) for consumer, node, _, amounts in shown]

    def _claimed(self, client: Client, query: str, parsed_args: argparse.Namespace) -> Claimed:
        """Claim the machines by one request to the scheduling API, or to the placement API if that does not take it."""
        uuids, rules = _uuids(parsed_args), _rules(parsed_args)
        end = {**end_of(parsed_args), **({"strict_end": True} if parsed_args.strict_end else {})}
        end |= booking_of(client, parsed_args)
        if len(uuids) > 1 or parsed_args.count > _AT_ONCE:
            if parsed_args.wait or rules or end:
                raise UsageError(
                    f"With --wait, --spread, --pack, --machine-group, --booking and an end at most {_AT_ONCE} machines "
                    "are claimed, and --consumer, the UUID of the claim, is given once at most."
                )
        else:
            try:
                body, classes = {**_body(query, uuids, rules, parsed_args), **end}, written_classes(parsed_args)
                return self._by_claim(client, body, classes, is_new=not uuids)
            except RequestFailed as error:
                if parsed_args.wait or rules or end or error.code not in _NOT_TAKEN:
                    raise
        return _by_placement(client, query, _consumers(client, parsed_args, uuids), parsed_args.attempts)

    def _by_claim(self, client: Client, body: dict[str, Any], classes: Mapping[str, str], *, is_new: bool) -> Claimed:
        progress = ProgressLine()

        def say(what: str, waited: float, seconds: float) -> None:
            progress.say(as_written(what, classes), waited, seconds)

        try:
            claim = make_claim(client, body, say, is_new=is_new)
        finally:
            progress.end()
        if "count" in body:
            self.log.warning("The claim is %s.", claim["uuid"])
        held, machines = claim["allocations"], claim["machines"]
        if len(machines) == 1:
            # All that it has, also of providers that share.
            (only,) = machines
            return [(only["consumer"], ClaimChoice(only["node"] or next(iter(held)), held, only.get("domains", {})))]
        return [
            (each["consumer"], ClaimChoice(each["node"], {each["node"]: held[each["node"]]}, each.get("domains", {})))
            for each in machines
        ]


def _body(query: str, uuids: Sequence[str], rules: dict[str, Any], parsed_args: argparse.Namespace) -> dict[str, Any]:
    owner = {"project_id": parsed_args.project_id, "user_id": parsed_args.user_id, "type": parsed_args.consumer_type}
    return {
        "query": query,
        "wait": parsed_args.wait,
        "even_if_impossible": parsed_args.even_if_impossible,
        "consumer": {"uuid": (uuids or [str(uuid.uuid4())])[0], **{name: each for name, each in owner.items() if each}},
        **({"count": parsed_args.count, **rules} if parsed_args.count > 1 or rules else {}),
    }


def _by_placement(client: Client, query: str, consumers: Consumers, attempts: int) -> Claimed:
    try:
        claimed = claim(client, query, consumers, attempts)
    except RequestFailed as error:
        if error.status != 403:
            raise
        raise RequestFailed(_NO_RIGHTS.format(error=" ".join(str(error).split())), error.status, error.code) from None
    return list(zip(consumers.uuids, claimed, strict=True))


def _rules(parsed_args: argparse.Namespace) -> dict[str, Any]:
    """Return the members of the body that say how machines are spread, and for which machine group."""
    group = {"group": parsed_args.machine_group} if parsed_args.machine_group else {}
    return {**rules_of(parsed_args), **group}


def _uuids(parsed_args: argparse.Namespace) -> list[str]:
    """Return the UUIDs that are given: that of the claim, or one for each machine. Raises UsageError."""
    uuids = []
    for text in parsed_args.consumer:
        try:
            uuids.append(str(uuid.UUID(text)))
        except ValueError:
            raise UsageError(f"--consumer {text}: it must be a UUID.") from None
    if len(uuids) > 1 and (len(set(uuids)) != len(uuids) or parsed_args.count not in (1, len(uuids))):
        raise UsageError("--consumer is given once for the claim, or once for each machine, with different UUIDs.")
    if max(parsed_args.count, len(uuids)) > _MOST:
        raise UsageError(f"At most {_MOST} machines can be claimed at once.")
    return uuids


def _consumers(client: Client, parsed_args: argparse.Namespace, uuids: Sequence[str]) -> Consumers:
    """Return the consumers of a claim through the placement API. Raises UsageError unless each has a UUID, or none."""
    count = max(parsed_args.count, len(uuids))
    if uuids and len(uuids) != count:
        raise UsageError(f"--consumer must be there once for each of {count} machines: the placement API claims them.")
    made = uuids or [str(uuid.uuid4()) for _ in range(count)]
    project = parsed_args.project_id or client.session.get_project_id() or _UNKNOWN
    user = parsed_args.user_id or client.session.get_user_id() or _UNKNOWN
    return Consumers(made, not uuids, project, user, parsed_args.consumer_type)


def _row(names: Mapping[str, str], consumer: str, choice: ClaimChoice) -> tuple[Any, ...]:
    amounts: dict[str, int] = {}
    for each in choice.allocations.values():
        for resource_class, amount in each["resources"].items():
            amounts[resource_class] = amounts.get(resource_class, 0) + amount
    name, domains = TextColumn(names.get(choice.node)), DomainsColumn(choice.domains)
    return consumer, choice.node, name, domains, CountsColumn(amounts)


def _in_table(row: tuple[Any, ...], classes: Mapping[str, str]) -> tuple[Any, ...]:
    consumer, node, name, domains, amounts = row
    shown = name if name.machine_readable() else node
    return consumer, shown, domains, CountsColumn(as_written(amounts.machine_readable(), classes))
