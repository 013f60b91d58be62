"""Why machines fit or do not, worked out of masks: pure, without a database.

A scan gives each machine a mask with a bit for each condition that it fails, the first condition having the lowest, and
counts machines with the same mask. The results for single conditions and for sets of them follow from these counts.
With three conditions (class, trait, free), 10 machines of mask 0b010 and 5 of mask 0b110:

* the trait *fails* 15 machines, and *only* the trait fails 10;
* without the condition on the trait, 10 machines would fit (a *relaxation*); without trait and "free", 15 would;
* the verdict is that of the best machine: 0 fits, only availability bits are busy, others are impossible.

A set of conditions helps a machine if its mask has no bit outside the set, so the smallest sets are found among the
masks themselves, and no search is run again.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from baremetal_sched.baremetal.matching.conditions import Condition, Kind

#: With more conditions that a client could leave out than this, not every set of them is tried.
MOST_EXACT = 12

#: The number of sets that are grown then, and of different machines that they are grown from.
_STARTS = 20
_LOOKED_AT = 500


class Bucket(NamedTuple):
    """Machines with the same mask: how many, and one of them that may be named."""

    machines: int
    example: str | None = None


class Masks(dict[int, Bucket]):
    """Machines by mask, as they are counted."""

    def add(self, mask: int, machines: int, example: str | None) -> None:
        """Count more machines with the mask. Of examples the least is kept."""
        before = self.get(mask, Bucket(0))
        examples = filter(None, (before.example, example))
        self[mask] = Bucket(before.machines + machines, min(examples, default=None))


class Verdict(StrEnum):
    """The verdict on a request. ``COMBINATION``: each part of it fits, and no machine all of them together."""

    FITS = "fits"
    SHORT = "short"
    BUSY = "busy"
    UNSERVED = "unserved"
    IMPOSSIBLE = "impossible"
    COMBINATION = "combination"


#: Verdicts on machines that meet the conditions, and cannot be had now.
HELD_BACK = (Verdict.BUSY, Verdict.UNSERVED)

#: Verdicts on requests that no machine would meet even if all were free.
HOPELESS = (Verdict.IMPOSSIBLE, Verdict.COMBINATION)


@dataclass(frozen=True)
class Share:
    """The effect of a condition: how many machines fail it, how many fail only this one, and, condition by condition,
    how many of the remaining machines it removes, and how many remain after it.

    ``example`` is a machine that only this condition rules out.
    """

    condition: Condition
    fails: int
    only_this: int
    eliminated: int
    left: int
    example: str | None


@dataclass(frozen=True)
class Relaxation:
    """Conditions of the request (ids) without which ``would_fit`` machines fit in all, with one that fits then only."""

    drop: tuple[str, ...]
    would_fit: int
    example: str | None


@dataclass(frozen=True)
class Analysis:
    """The complete analysis. ``exact``: whether ``relaxations`` has all minimal ones, or only some of them.

    ``decisive``: the conditions that explain the verdict, with the number that each removes of the machines that the
    conditions before it left, of ``among`` machines: of all, or of the matching ones if none of these is free.
    """

    nodes: int
    fitting: int
    verdict: Verdict
    shares: list[Share]
    relaxations: list[Relaxation]
    exact: bool
    decisive: list[tuple[Condition, int]] = field(default_factory=list)
    among: int = 0


def analyse(
    conditions: Sequence[Condition], masks: Mapping[int, Bucket], needed: int = 1, one_stays: Collection[str] = ()
) -> Analysis:
    """Return the analysis of ``conditions`` by ``masks``, where ``needed`` machines were requested.

    ``one_stays``: ids of conditions; a request needs one of them, so no relaxation drops all.
    """
    counting = _bits(conditions, lambda condition: condition.counts)
    fitting = _total(masks, ~counting)
    relaxations, exact = _relaxations(conditions, masks, fitting, needed, one_stays)
    verdict = _verdict(conditions, masks, fitting, needed)
    decisive, among = _decisive(conditions, masks, counting, verdict)
    return Analysis(
        nodes=sum(bucket.machines for bucket in masks.values()),
        fitting=fitting,
        verdict=verdict,
        shares=_shares(conditions, masks, counting),
        relaxations=relaxations,
        exact=exact,
        decisive=decisive,
        among=among,
    )


def beside(analysis: Analysis, others: int, failed: Collection[str]) -> Analysis:
    """Return the analysis with ``others`` more machines, which fail the conditions with the ids ``failed``, or more.
    The first of these removes them."""
    first = next(place for place, share in enumerate(analysis.shares) if share.condition.id in failed)
    shares = [
        replace(
            share,
            fails=share.fails + others * (share.condition.id in failed),
            eliminated=share.eliminated + others * (place == first),
            left=share.left + others * (place < first),
        )
        for place, share in enumerate(analysis.shares)
    ]
    if not others or analysis.verdict in (Verdict.BUSY, Verdict.UNSERVED):
        return replace(analysis, nodes=analysis.nodes + others, shares=shares)
    removed = {condition.id: count for condition, count in analysis.decisive}
    removed[shares[first].condition.id] = removed.get(shares[first].condition.id, 0) + others
    decisive = [(share.condition, removed[share.condition.id]) for share in shares if share.condition.id in removed]
    among = analysis.among + others
    return replace(analysis, nodes=analysis.nodes + others, shares=shares, decisive=decisive, among=among)


def _bits(conditions: Sequence[Condition], chosen: Callable[[Condition], bool]) -> int:
    return sum(1 << place for place, condition in enumerate(conditions) if chosen(condition))


def _total(masks: Mapping[int, Bucket], allowed: int) -> int:
    """How many machines fail no condition outside of ``allowed``."""
    return sum(bucket.machines for mask, bucket in masks.items() if not mask & ~allowed)


def _verdict(conditions: Sequence[Condition], masks: Mapping[int, Bucket], fitting: int, needed: int) -> Verdict:
    if fitting:
        return Verdict.FITS if fitting >= needed else Verdict.SHORT
    forgiven = ~_bits(conditions, lambda condition: condition.counts)
    service = _bits(conditions, lambda condition: condition.kind is Kind.SERVICE)
    busy = _bits(conditions, lambda condition: condition.kind is Kind.AVAILABILITY)
    if _total(masks, forgiven | service):
        return Verdict.UNSERVED
    return Verdict.BUSY if _total(masks, forgiven | service | busy) else Verdict.IMPOSSIBLE


def _decisive(
    conditions: Sequence[Condition], masks: Mapping[int, Bucket], counting: int, verdict: Verdict
) -> tuple[list[tuple[Condition, int]], int]:
    among = dict(masks)
    if verdict in (Verdict.BUSY, Verdict.UNSERVED):
        request_bits = _bits(conditions, lambda condition: condition.kind is Kind.REQUEST and condition.counts)
        among = {mask: bucket for mask, bucket in masks.items() if not mask & request_bits}
    removed = [0] * len(conditions)
    for mask, bucket in among.items():
        if mask & counting:
            removed[_lowest(mask & counting)] += bucket.machines
    decisive = [(condition, count) for condition, count in zip(conditions, removed, strict=True) if count]
    return decisive, sum(bucket.machines for bucket in among.values())


def _shares(conditions: Sequence[Condition], masks: Mapping[int, Bucket], counting: int) -> list[Share]:
    fails, only, first = ([0] * len(conditions) for _ in range(3))
    examples: list[str | None] = [None] * len(conditions)
    for mask, (count, example) in masks.items():
        counted = mask & counting
        if counted:
            first[_lowest(counted)] += count
        for place in places(mask):
            fails[place] += count
            # Alone, except for conditions that do not count.
            if not counted & ~(1 << place):
                only[place] += count
                examples[place] = examples[place] or example
    shares, left = [], sum(bucket.machines for bucket in masks.values())
    for place, condition in enumerate(conditions):
        left -= first[place]
        shares.append(Share(condition, fails[place], only[place], first[place], left, examples[place]))
    return shares


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def places(mask: int) -> Iterator[int]:
    """Yield the places of the bits of ``mask``, the lowest first."""
    while mask:
        yield _lowest(mask)
        mask &= mask - 1


# -- relaxations -------------------------------------------------------------------------------------------------------


def _relaxations(
    conditions: Sequence[Condition],
    masks: Mapping[int, Bucket],
    fitting: int,
    needed: int,
    one_stays: Collection[str],
) -> tuple[list[Relaxation], bool]:
    """The sets that bring ``needed`` machines (or as many as there can be), and whether none is missing."""
    units = [condition for condition in conditions if condition.kind is Kind.REQUEST and condition.counts]
    needs = _needs(conditions, units, masks)
    stays = sum(1 << place for place, unit in enumerate(units) if unit.id in one_stays)
    if stays:
        needs = {need: bucket for need, bucket in needs.items() if need & stays != stays}
    everything = (1 << len(units)) - 1
    most = [everything & ~(1 << place) for place in places(stays)] or [everything]
    goal = min(needed, max(_total(needs, drop) for drop in most))
    exact = len(units) <= MOST_EXACT
    if goal <= fitting:
        return [], True
    smallest = _all_minimal(len(units), needs, goal) if exact else _some_minimal(needs, goal)
    relaxations = [
        Relaxation(tuple(units[place].id for place in places(drop)), would_fit, _example(needs, drop))
        for drop, would_fit in smallest
        if not stays or drop & stays != stays
    ]
    return sorted(relaxations, key=lambda each: (len(each.drop), -each.would_fit, each.drop)), exact


def _needs(
    conditions: Sequence[Condition], units: Sequence[Condition], masks: Mapping[int, Bucket]
) -> dict[int, Bucket]:
    """Return machines by the conditions that must be dropped so that they fit, a bit for each of ``units``. Machines
    that no change of the request makes fit are left out."""
    place_of = {unit.id: place for place, unit in enumerate(units)}
    unit_of = [place_of.get(condition.part_of or condition.id) for condition in conditions]
    needs: dict[int, Bucket] = {}
    for mask, bucket in masks.items():
        failed = [unit_of[place] for place in places(mask) if conditions[place].counts]
        needed = 0
        for unit in failed:
            if unit is None:
                break
            needed |= 1 << unit
        else:
            before = needs.get(needed, Bucket(0))
            needs[needed] = Bucket(before.machines + bucket.machines, before.example or bucket.example)
    return needs


def _all_minimal(units: int, needs: Mapping[int, Bucket], goal: int) -> Iterator[tuple[int, int]]:
    """Every minimal set that reaches the goal, with the number of machines that fit then."""
    totals = [0] * (1 << units)
    for need, bucket in needs.items():
        totals[need] = bucket.machines
    # How many need no condition outside of the set dropped: sums over all subsets, a bit at a time.
    for unit in range(units):
        bit = 1 << unit
        for drop in range(1 << units):
            if drop & bit:
                totals[drop] += totals[drop ^ bit]
    for drop, total in enumerate(totals):
        if total >= goal and all(totals[drop ^ (1 << unit)] < goal for unit in places(drop)):
            yield drop, total


def _some_minimal(needs: Mapping[int, Bucket], goal: int) -> Iterator[tuple[int, int]]:
    """Sets that reach the goal. Each begins with the needs of a machine that needs little, and grows as cheaply as
    possible."""
    ordered = sorted(needs, key=lambda need: (need.bit_count(), -needs[need].machines))
    near = {need: needs[need] for need in ordered[:_LOOKED_AT]}
    # Of very many different machines only these are looked at, and may bring less than was wanted.
    goal = min(goal, sum(bucket.machines for bucket in near.values()))
    seen: set[int] = set()
    for start in [need for need in near if need][:_STARTS]:
        drop = _pruned(_grown(start, near, goal), near, goal)
        if drop not in seen:
            seen.add(drop)
            yield drop, _total(needs, drop)


def _grown(drop: int, needs: Mapping[int, Bucket], goal: int) -> int:
    while _total(needs, drop) < goal:
        others = (need for need in needs if need & ~drop)
        drop |= min(others, key=lambda need: ((need & ~drop).bit_count(), -needs[need].machines))
    return drop


def _pruned(drop: int, needs: Mapping[int, Bucket], goal: int) -> int:
    for unit in places(drop):
        if _total(needs, drop & ~(1 << unit)) >= goal:
            drop &= ~(1 << unit)
    return drop


def _example(needs: Mapping[int, Bucket], drop: int) -> str | None:
    """A machine that fits without the conditions; if possible, one that does not fit with any of them."""
    fitting = sorted((need for need in needs if need and not need & ~drop), key=int.bit_count, reverse=True)
    return next((needs[need].example for need in fitting if needs[need].example), None)
