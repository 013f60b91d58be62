"""Claims through the placement API, of what the scheduling API does not claim: all or none, and again if another client
was faster."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from keystoneauth1.exceptions import ClientException as NoAnswer
from osc_lib.exceptions import CommandError

from baremetal_sched.osc.client import Client, RequestFailed

#: Seconds between two attempts: at first, and at most.
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0

#: How many candidates are requested beyond the ones needed, so that concurrent clients do not all try the same ones.
_SPARE = 4

#: Answers to a claim that say nothing of whether it was made, or that it may work in a moment.
PASSING = (502, 503, 504)

#: A claim: resources by provider, as placement writes it.
Allocations = Mapping[str, Mapping[str, Any]]


class NothingFits(CommandError):
    """There are fewer candidates than machines are wanted."""


@dataclass(frozen=True)
class ClaimChoice:
    """A candidate: its allocations, the root of its tree, which is the node, and the names of its domains by level."""

    node: str
    allocations: Allocations
    domains: Mapping[str, str] = field(default_factory=dict)


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
        """Return the request to placement for one of the consumers, which has nothing yet."""
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
) -> list[ClaimChoice]:
    """Claim a candidate of the query for each consumer, all or none, and return the allocations of each.

    If another client was faster, other candidates are tried, up to ``attempts`` times in all. Nothing is claimed if an
    error is raised: NothingFits if there are too few candidates, CommandError if a consumer has allocations already or
    if every attempt failed, and the errors of a refused request. The exception is a claim that was not answered: its
    result may be unknown, and the CommandError says so and names the consumers.
    """
    wait = _FIRST_PAUSE
    unanswered: list[Sequence[ClaimChoice]] = []
    cause = ""
    for attempt in range(attempts):
        if attempt:
            pause(random.uniform(wait / 2, wait))  # noqa: S311 - no secret
            wait = min(2 * wait, _LONGEST_PAUSE)
        try:
            chosen = _choose(client, query, len(consumers.uuids))
            claimed = _claimed(client, consumers, chosen, unanswered)
            if claimed is not None:
                return list(claimed)
            cause = "others were faster. Try again."
        except RequestFailed as error:
            if error.status not in PASSING:
                raise
            cause = f"the service could not do it. Its last answer: {error}"
    raise CommandError(f"Nothing is claimed in {attempts} attempts: {cause}")


def _choose(client: Client, query: str, count: int) -> list[ClaimChoice]:
    """Return as many candidates as are wanted. No two have a provider in common."""
    pairs = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name != "limit"]
    limit = ("limit", str(_SPARE * count))
    candidates = client.get("placement", "/allocation_candidates", [*pairs, limit])
    requests = candidates["allocation_requests"]
    # Others that ask at the same time should not try the same.
    random.shuffle(requests)
    chosen: list[ClaimChoice] = []
    used: set[str] = set()
    for request in requests:
        providers = request["allocations"]
        if len(chosen) < count and used.isdisjoint(providers):
            allocations = {uuid: {"resources": each["resources"]} for uuid, each in providers.items()}
            root = candidates["provider_summaries"][next(iter(providers))]["root_provider_uuid"]
            chosen.append(ClaimChoice(root, allocations))
            used.update(providers)
    if not chosen:
        raise NothingFits("No machine fits.")
    if len(chosen) < count:
        raise NothingFits(f"Too few machines fit: {count} are wanted, and there are {len(chosen)}.")
    return chosen


def _claimed(
    client: Client, consumers: Consumers, chosen: Sequence[ClaimChoice], unanswered: list[Sequence[ClaimChoice]]
) -> Sequence[ClaimChoice] | None:
    """Claim the chosen machines, in one request that does all or nothing; return the claims, None if others have a
    machine. Raises RequestFailed if nothing was claimed for another reason, which may pass.

    ``unanswered`` are earlier choices that may have been claimed, or may yet be, since no answer came; this one is
    added to it if it gets no answer either.
    """
    bodies = {uuid: consumers.body(each.allocations) for uuid, each in zip(consumers.uuids, chosen, strict=True)}
    try:
        client.request("placement", "POST", "/allocations", bodies)
    except RequestFailed as error:
        if error.status in PASSING:
            unanswered.append(chosen)
        elif error.status != 409:
            raise
        elif consumers.are_new and not unanswered:
            return None
        held = _held(client, consumers, unanswered)
        if held is None and error.status in PASSING:
            raise
        return held
    except NoAnswer as error:
        unanswered.append(chosen)
        try:
            held = _held(client, consumers, unanswered)
            if held is None:
                raise RequestFailed(str(error), PASSING[0])
            return held
        except NoAnswer:
            names = ", ".join(consumers.uuids[:3]) + (", ..." if len(consumers.uuids) > 3 else "")
            raise CommandError(
                f"The claim was not answered ({error}). Check whether it was made: consumer {names}."
            ) from None
    return chosen


def _held(
    client: Client, consumers: Consumers, choices: Sequence[Sequence[ClaimChoice]]
) -> Sequence[ClaimChoice] | None:
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
