"""openstack scheduling claim"""

import argparse
import random
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from keystoneauth1.exceptions import ClientException as NoAnswer
from osc_lib.command import command
from osc_lib.exceptions import CommandError

from baremetal_sched.osc.client import Client, CountsColumn, FitsOrNot, RequestFailed, TextColumn, client_of
from baremetal_sched.osc.find import positive
from baremetal_sched.osc.query import (
    add_machine_options,
    add_query_options,
    candidate_query,
    placement_class,
    trait_entries,
)

#: Seconds between two attempts: at first, and at most.
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0

#: How many candidates are requested beyond the ones needed, so that concurrent clients do not all try the same ones.
_SPARE = 4

#: Answers to a claim that say nothing of whether it was made, or that it may work in a moment.
_PASSING = (502, 503, 504)

#: What is claimed: resources by provider, as placement writes it.
Allocations = Mapping[str, Mapping[str, Any]]


class NothingFits(CommandError):
    """There are fewer candidates than machines are wanted."""


@dataclass(frozen=True)
class Choice:
    """A candidate: its allocations, and the root of its tree, which is the node."""

    node: str
    allocations: Allocations


@dataclass(frozen=True)
class Consumers:
    """The consumers of a claim: a UUID for each machine, and the facts that placement stores for all of them.

    ``are_new``: the UUIDs were made for this claim, so no consumer can have them already.
    """

    uuids: Sequence[str]
    are_new: bool
    project: str
    user: str
    type: str

    def body(self, allocations: Allocations) -> dict[str, Any]:
        """Return what placement is sent for one of them, which has nothing yet."""
        return {
            "allocations": allocations,
            "consumer_generation": None,
            "project_id": self.project,
            "user_id": self.user,
            "consumer_type": self.type,
        }


def claim(
    client: Client,
    query: str,
    consumers: Consumers,
    attempts: int,
    pause: Callable[[float], None] = time.sleep,
) -> list[Choice]:
    """Claim a candidate of the query for each consumer, all or none, and return the allocations of each.

    If another client was faster, other candidates are tried, up to ``attempts`` times in all. Nothing is claimed if an
    error is raised: NothingFits if there are too few candidates, CommandError if a consumer has allocations already or
    if every attempt failed, and the errors of a refused request. The exception is a claim that was not answered: its
    result may be unknown, and the CommandError says so and names the consumers.
    """
    wait = _FIRST_PAUSE
    unanswered: list[Sequence[Choice]] = []
    for attempt in range(attempts):
        if attempt:
            pause(random.uniform(wait / 2, wait))  # noqa: S311 - no secret
            wait = min(2 * wait, _LONGEST_PAUSE)
        try:
            chosen = _choose(client, query, len(consumers.uuids))
            claimed = _claimed(client, consumers, chosen, unanswered)
            if claimed is not None:
                return list(claimed)
        except RequestFailed as error:
            if error.status not in _PASSING:
                raise
    raise CommandError(
        f"Nothing is claimed: others were faster, or the service was too busy, in {attempts} attempts. Try again."
    )


def _choose(client: Client, query: str, count: int) -> list[Choice]:
    """Return as many candidates as are wanted, no two of which have a provider in common."""
    pairs = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name != "limit"]
    limit = ("limit", str(_SPARE * count))
    found = client.get("placement", "/allocation_candidates", [*pairs, limit])
    requests = found["allocation_requests"]
    # Others that ask at the same time should not try the same.
    random.shuffle(requests)
    chosen: list[Choice] = []
    used: set[str] = set()
    for request in requests:
        providers = request["allocations"]
        if len(chosen) < count and used.isdisjoint(providers):
            allocations = {uuid: {"resources": each["resources"]} for uuid, each in providers.items()}
            root = found["provider_summaries"][next(iter(providers))]["root_provider_uuid"]
            chosen.append(Choice(root, allocations))
            used.update(providers)
    if not chosen:
        raise NothingFits("No machine fits.")
    if len(chosen) < count:
        raise NothingFits(f"Too few machines fit: {count} are wanted, and there are {len(chosen)}.")
    return chosen


def _claimed(
    client: Client, consumers: Consumers, chosen: Sequence[Choice], unanswered: list[Sequence[Choice]]
) -> Sequence[Choice] | None:
    """Claim what was chosen, in one request that does all or nothing; return what was claimed, None if nothing was.

    ``unanswered`` are choices of before of which it is not known whether they were claimed, or may yet be; this one is
    added to it if it is such a one.
    """
    bodies = {uuid: consumers.body(each.allocations) for uuid, each in zip(consumers.uuids, chosen, strict=True)}
    try:
        client.request("placement", "POST", "/allocations", bodies)
    except RequestFailed as error:
        if error.status in _PASSING:
            unanswered.append(chosen)
        elif error.status != 409:
            raise
        elif consumers.are_new and not unanswered:
            return None
        return _held(client, consumers, unanswered)
    except NoAnswer as error:
        unanswered.append(chosen)
        try:
            return _held(client, consumers, unanswered)
        except NoAnswer:
            names = ", ".join(consumers.uuids[:3]) + (", ..." if len(consumers.uuids) > 3 else "")
            raise CommandError(
                f"The claim was not answered ({error}). Check whether it was made: consumer {names}."
            ) from None
    return chosen


def _held(client: Client, consumers: Consumers, choices: Sequence[Sequence[Choice]]) -> Sequence[Choice] | None:
    """Return which of the choices the consumers have; None if they have nothing. Raises CommandError otherwise."""
    held = [_amounts(held_by(client, uuid)) for uuid in consumers.uuids]
    for chosen in choices:
        if held == [_amounts(each.allocations) for each in chosen]:
            return chosen
    for consumer, amounts in zip(consumers.uuids, held, strict=True):
        if amounts:
            raise CommandError(f"Consumer {consumer} has allocations already: release them, or name another consumer.")
    return None


def held_by(client: Client, consumer: str) -> Allocations:
    """Return what a consumer has."""
    held: Allocations = client.get("placement", f"/allocations/{consumer}")["allocations"]
    return held


def _amounts(allocations: Allocations) -> dict[str, Any]:
    return {uuid: each["resources"] for uuid, each in allocations.items()}


#: What placement itself notes where it does not know the project and the user of a consumer.
_UNKNOWN = "00000000-0000-0000-0000-000000000000"
_TITLES = ("Consumer", "Node", "Name", "Resources")
_MOST = 1000


class Claim(FitsOrNot, command.Lister):
    """Choose machines and claim them in placement

    The request is a query of allocation candidates (--resource, --required, ... or --query), or a class and traits
    of machines (--class, --trait, ...). If another client was faster, other machines are tried. With --count
    all machines are claimed or none. The exit status is 0 if they are, and 3 if not as many fit.

    'openstack resource provider allocation delete <consumer>' releases a machine.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command's options."""
        parser = super().get_parser(prog_name)
        add_query_options(parser)
        add_machine_options(parser)
        parser.add_argument("--count", type=positive, default=1, metavar="<number>", help="How many machines")
        parser.add_argument(
            "--consumer",
            action="append",
            default=[],
            metavar="<uuid>",
            help="UUID of the consumer; a new one by default. Repeatable",
        )
        parser.add_argument("--consumer-type", default="INSTANCE", metavar="<type>", help="Default: INSTANCE")
        parser.add_argument(
            "--project-id", metavar="<project>", help="Project of the consumer; by default that of the login"
        )
        parser.add_argument("--user-id", metavar="<user>", help="User of the consumer; by default that of the login")
        parser.add_argument(
            "--attempts", type=positive, default=10, metavar="<number>", help="At most this many, default: 10"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Iterable[Any]]:
        """Return titles and rows."""
        client = client_of(self.app)
        query = _query(parsed_args)
        consumers = _consumers(client, parsed_args)
        try:
            claimed = claim(client, query, consumers, parsed_args.attempts)
        except NothingFits as error:
            self.fits = False
            self.log.warning("%s 'openstack scheduling explain' with the same options says why.", error)
            return _TITLES, []
        return _TITLES, [_row(client, *pair) for pair in zip(consumers.uuids, claimed, strict=True)]


def _query(parsed_args: argparse.Namespace) -> str:
    query = candidate_query(parsed_args)
    traits = trait_entries(parsed_args)
    if (query is None) == (parsed_args.resource_class is None):
        raise CommandError("Specify the request in one way: --resource CLASS=AMOUNT, --query, or --class.")
    if query is not None:
        if traits:
            raise CommandError("--trait, --without-trait and --any-trait go with --class. With others: --required.")
        return query
    together = ",".join(trait for trait in traits if not trait.startswith("in:"))
    pairs = [("resources", f"{placement_class(parsed_args.resource_class)}:1")]
    pairs += [("required", together)] if together else []
    pairs += [("required", trait) for trait in traits if trait.startswith("in:")]
    return urlencode(pairs)


def _consumers(client: Client, parsed_args: argparse.Namespace) -> Consumers:
    """Return the consumers of the claim. Raises CommandError for too many, and for invalid UUIDs."""
    given = []
    for text in parsed_args.consumer:
        try:
            given.append(str(uuid.UUID(text)))
        except ValueError:
            raise CommandError(f"--consumer {text}: it has to be a UUID.") from None
    count = max(parsed_args.count, len(given)) if parsed_args.count == 1 else parsed_args.count
    if count > _MOST:
        raise CommandError(f"At most {_MOST} machines can be claimed at once.")
    if given and (len(set(given)) != len(given) or len(given) != count):
        raise CommandError(f"--consumer has to be there once for each of {count} machines, with different UUIDs.")
    uuids = given or [str(uuid.uuid4()) for _ in range(count)]
    project = parsed_args.project_id or client.session.get_project_id() or _UNKNOWN
    user = parsed_args.user_id or client.session.get_user_id() or _UNKNOWN
    return Consumers(uuids, not given, project, user, parsed_args.consumer_type)


def _row(client: Client, consumer: str, choice: Choice) -> tuple[Any, ...]:
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
