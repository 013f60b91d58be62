"""Giving each slot a provider, one slot after the other, and going back where that leads nowhere.

What a search has to try grows with the product of all options, so it learns: after a few dead ends it remembers the
states from which there is no candidate, and asks ``bounds`` before it goes on from any other. Nothing of that leaves a
candidate out, or changes the order in which they are found.
"""

from collections.abc import Iterator

from baremetal_sched.placement.candidates.request.resolved_request import ResolvedRequest
from baremetal_sched.placement.candidates.trees import bounds
from baremetal_sched.placement.candidates.trees.candidate import TimeLimit
from baremetal_sched.placement.candidates.trees.dead_ends import DeadEnds
from baremetal_sched.placement.candidates.trees.partial_choice import PartialChoice
from baremetal_sched.placement.candidates.trees.providers import Anchor, Provider
from baremetal_sched.placement.candidates.trees.slots import Slot, slots_of

#: After this many dead ends in a tree it is worth while to learn from them.
PATIENCE = 50

#: The time limit is looked at when this many options have been tried.
_STEPS = 256


def choices(
    resolved: ResolvedRequest, anchor: Anchor, time_limit: TimeLimit
) -> Iterator[tuple[list[Slot], list[Provider]]]:
    """Yield every way to give each slot (in any order) a provider; the list of providers is reused.

    Raises TookTooLong.
    """
    time_limit.check()
    if not anchor.root.has(resolved.root_required, resolved.root_forbidden):
        return
    slots = []
    for slot in slots_of(resolved, anchor):
        if not slot.options:
            return
        slots.append(slot)
        time_limit.check()
    # Slots with the fewest options first: a dead end shows early.
    slots.sort(key=lambda slot: len(slot.options))
    choice = PartialChoice(resolved, anchor, slots)
    if (resolved.isolate or resolved.contended_classes) and bounds.impossible(*choice.demands(), time_limit):
        return
    for chosen in _completions(choice, time_limit):
        yield slots, chosen


def _completions(choice: PartialChoice, time_limit: TimeLimit) -> Iterator[list[Provider]]:
    """Complete a choice of nothing in every way: the providers of all slots, in a list that is reused.

    Raises TookTooLong.
    """
    slots = choice.slots
    learned: DeadEnds | None = None
    steps = found = dead_ends = 0
    # By slot that has or gets a provider now: those not tried yet, and how many ways had been found before.
    tried: list[tuple[Iterator[Provider], int]] = [(iter(slots[0].options), 0)]
    while tried:
        depth = len(tried) - 1
        slot = slots[depth]
        options, found_before = tried[-1]
        for provider in options:
            steps += 1
            if not steps % _STEPS:
                time_limit.check()
            if not choice.may(slot, provider):
                continue
            if choice.take(slot, provider):
                if depth + 1 == len(slots):
                    found += 1
                    yield choice.providers
                elif learned is None or not learned.covers():
                    tried.append((iter(slots[depth + 1].options), found))
                    break
            choice.release()
        else:
            tried.pop()
            if found == found_before:
                dead_ends += 1
                if learned is not None:
                    learned.add()
                elif dead_ends == PATIENCE:
                    learned = DeadEnds(choice, time_limit)
            if tried:
                choice.release()
