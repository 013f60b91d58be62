"""Who may get a machine that is free: the entries of the queue of its class that may fit, each project in turn."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from baremetal_sched.placement import pending_claims
from baremetal_sched.placement.pending_claims import QueueEntry
from baremetal_sched.scheduling import claim_requests, free_machines
from baremetal_sched.scheduling.claim_requests import Request
from baremetal_sched.scheduling.free_machines import FreeMachine

#: The requests of claims by their keys, which never change, with the project that asked first: most claims wait for
#: longer than one hand-over.
_requests: dict[str, tuple[str, Request]] = {}
_MOST_REQUESTS = 10_000

#: If a queue has more entries than may be tested, this many are read to find those that may fit.
_MOST_READ = 5_000


@dataclass(frozen=True)
class Chance:
    """A machine (a node's UUID) that may fit the claims of these entries of the queue, in their order.

    ``is_cut``: there are more entries that may fit.
    """

    machine: str
    entries: Sequence[QueueEntry]
    is_cut: bool


def chances(connection: Connection, machines: Mapping[int, str], most: int) -> list[Chance]:
    """Return who may get the machines, given as ids of providers with the names of their classes.

    At most ``most`` entries of a queue are returned: those that may fit, each project in turn. The rows of the nodes
    are locked. Raises MachineLocked.
    """
    found: list[Chance] = []
    for provider, class_name in machines.items():
        # Before anything is read of it: who changes it looks at those who wait only while it is free.
        machine = free_machines.lock(connection, provider)
        if machine is not None:
            found.append(_chance(connection, machine, class_name, most))
    return [chance for chance in found if chance.entries or chance.is_cut]


def chance_of(connection: Connection, node: str, resource_class: str, most: int) -> Chance | None:
    """Return who may get the node (a UUID), of this class, when it is free; None if none waits. Nothing is locked."""
    machine = free_machines.find(connection, node)
    return None if machine is None else _chance(connection, machine, resource_class, most)


def _chance(connection: Connection, machine: FreeMachine, class_name: str, most: int) -> Chance:
    queue = pending_claims.entries(connection, class_name, machine.traits, most + 1)
    if len(queue) > most and most < _MOST_READ:
        queue = pending_claims.entries(connection, class_name, machine.traits, _MOST_READ + 1)
    known = _with_requests(connection, queue)
    fitting = [(entry, project) for entry, project, request in known if machine.may_fit(request)]
    chosen = _shared(fitting, most)
    return Chance(machine.uuid, chosen, len(chosen) < len(fitting) or len(queue) > max(most, _MOST_READ))


def _shared(queue: Sequence[tuple[QueueEntry, str]], most: int) -> list[QueueEntry]:
    """Return at most ``most`` entries of a queue, in its order: of each priority, the highest first, one of each
    project in turn."""
    if len(queue) <= most:
        return [entry for entry, _ in queue]
    turns: Counter[tuple[int, str]] = Counter()
    ranked: list[tuple[int, int, int]] = []
    for place, (entry, project) in enumerate(queue):
        ranked.append((-entry.priority, turns[entry.priority, project], place))
        turns[entry.priority, project] += 1
    return [queue[place][0] for place in sorted(place for *_, place in sorted(ranked)[:most])]


def _with_requests(connection: Connection, queue: Sequence[QueueEntry]) -> list[tuple[QueueEntry, str, Request]]:
    """Return the entries with their projects and requests, except those whose claim was deleted meanwhile."""
    known = {each.request_key: _requests.get(each.request_key) for each in queue}
    missing = {each.first: each.request_key for each in queue if known[each.request_key] is None}
    for first, (project, document) in pending_claims.requests_of(connection, missing.keys()).items():
        known[missing[first]] = (project, claim_requests.request_of(document))
    if len(_requests) > _MOST_REQUESTS:
        _requests.clear()
    _requests.update({key: found for key, found in known.items() if found is not None})
    return [(each, *found) for each in queue if (found := known[each.request_key]) is not None]
