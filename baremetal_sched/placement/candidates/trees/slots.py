"""The slots of a request, each served by one provider, and the providers of a tree that can serve each."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from baremetal_sched.placement.candidates.request.resolved_request import Group, ResolvedRequest
from baremetal_sched.placement.candidates.trees.providers import Anchor, Provider


@dataclass(slots=True)
class Slot:
    """A part of a request that one provider must serve (a group with a suffix, or one class of the group without), and
    ``options``: the providers that could.

    ``contended`` are those of the amounts that others take from as well.
    """

    place: int
    group: Group
    amounts: list[tuple[int, int]]
    contended: list[tuple[int, int]]
    options: list[Provider]


def can_satisfy(group: Group, provider: Provider) -> bool:
    """Return whether the provider can give all that a group with a suffix asks for, and meets its conditions."""
    for resource_class, amount in group.resources.items():
        if not provider.gives(resource_class, amount):
            return False
    return (
        provider.has(group.required, group.forbidden)
        and provider.is_in(group.member_of)
        and group.not_member_of.isdisjoint(provider.aggregates)
        and group.tree in (None, provider.root_id)
    )


def can_contribute(group: Group, anchor: Anchor, provider: Provider, resource_class: int, amount: int) -> bool:
    """Return whether the provider can give the amount to the group without suffix. An aggregate of the root spans the
    tree."""
    return provider.gives(resource_class, amount) and is_eligible(group, anchor, provider)


def is_eligible(group: Group, anchor: Anchor, provider: Provider) -> bool:
    """Return whether the provider may give to the group without suffix, whatever it has."""
    if not group.forbidden.isdisjoint(provider.traits):
        return False
    local = provider.root_id == anchor.root.id
    if not (group.tree is None or (local and group.tree == anchor.root.id)):
        return False
    if not (provider.is_in(group.member_of) or (local and anchor.root.is_in(group.member_of))):
        return False
    return group.not_member_of.isdisjoint(provider.aggregates) and group.not_member_of.isdisjoint(
        anchor.root.aggregates
    )


def slots_of(resolved: ResolvedRequest, anchor: Anchor) -> Iterator[Slot]:
    """Yield the slots of the request in its order, each with the providers of the tree that could serve it."""
    all_providers = [*anchor.local, *anchor.sharing]
    having: dict[int, list[Provider]] = {}
    for provider in all_providers:
        for resource_class in provider.inventories:
            having.setdefault(resource_class, []).append(provider)
    places = count()

    def slot(group: Group, amounts: list[tuple[int, int]], options: list[Provider]) -> Slot:
        contended = [item for item in amounts if item[0] in resolved.contended_classes]
        return Slot(next(places), group, amounts, contended, options)

    for group in resolved.groups:
        items = list(group.resources.items())
        if group.suffix:
            able = having.get(items[0][0], []) if items else all_providers
            yield slot(group, items, [provider for provider in able if can_satisfy(group, provider)])
            continue
        for item in items:
            able = having.get(item[0], [])
            yield slot(group, [item], [provider for provider in able if can_contribute(group, anchor, provider, *item)])
