"""The query string of ``GET /allocation_candidates`` as request groups."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from baremetal_sched.errors import BadQuery
from baremetal_sched.placement.query_values import (
    PREFIX,
    AggregateConditions,
    TraitConditions,
    all_values,
    parse_member_of,
    parse_required,
    parse_resources,
)
from baremetal_sched.placement.schemas.validation import is_tolerant_uuid

_GROUPED = re.compile(r"(resources|required|member_of|in_tree)(.*)", re.DOTALL)

CONTRADICTIONS_REFUSED_SINCE = 22
GROUP_POLICY_SINCE = 25


@dataclass
class RequestGroup:
    """All parameters with one suffix; the group without a suffix may be served by several providers."""

    suffix: str
    resources: dict[str, int] = field(default_factory=dict)
    traits: TraitConditions = field(default_factory=TraitConditions)
    aggregates: AggregateConditions = field(default_factory=AggregateConditions)
    in_tree: str | None = None


@dataclass
class CandidateRequest:
    """What is asked for: groups by suffix in the order of the query, and what holds for all of them."""

    groups: dict[str, RequestGroup]
    limit: int | None = None
    group_policy: str | None = None


def parse(pairs: Iterable[tuple[str, str]], version: int) -> CandidateRequest:
    """The request in ``pairs``, which fit the schema of the microversion. Raises BadQuery."""
    values = all_values(pairs)
    _refuse_what_is_missing(values)
    groups: dict[str, RequestGroup] = {}
    for name, given in values.items():
        match = _GROUPED.fullmatch(name)
        if match:
            kind, suffix = match.groups()
            group = groups.setdefault(suffix, RequestGroup(suffix))
            _fill(group, kind, name, given, version)
    _check_complete(groups)
    _check_contradictions(groups, version)
    policy = values.get("group_policy", [None])[0]
    suffixed = [suffix for suffix in groups if suffix]
    if version >= GROUP_POLICY_SINCE and len(suffixed) > 1 and policy is None:
        raise BadQuery(
            message='The "group_policy" parameter is required when specifying more than one "resources{N}" parameter.'
        )
    limit = values.get("limit", [None])[-1]
    return CandidateRequest(groups, int(limit) if limit else None, policy)


def _refuse_what_is_missing(values: Iterable[str]) -> None:
    """Suffixed groups and conditions on whole trees are valid, but this release cannot search by them."""
    for name in values:
        match = _GROUPED.fullmatch(name)
        if name in ("root_required", "same_subtree") or (match and match[2]):
            raise BadQuery(message=f"This release does not search by {name} yet; use a request without suffixes.")


def _fill(group: RequestGroup, kind: str, name: str, values: Sequence[str], version: int) -> None:
    match kind:
        case "resources":
            group.resources = parse_resources(values[-1])
        case "required":
            group.traits = parse_required(values, version)
        case "member_of":
            group.aggregates = parse_member_of(name, values, version)
        case _:
            group.in_tree = values[-1]
            if not is_tolerant_uuid(group.in_tree):
                raise BadQuery(
                    message=f"{PREFIX}Expected 'in_tree' parameter to be a format of uuid. Got: {group.in_tree}"
                )


def _check_complete(groups: dict[str, RequestGroup]) -> None:
    orphaned = [group for group in groups.values() if not group.resources]
    traits = [f"required{group.suffix}" for group in orphaned if group.traits.names()]
    if traits:
        raise BadQuery(
            message="All traits parameters must be associated with resources.  Found the following orphaned traits "
            f"keys: {', '.join(sorted(traits))}"
        )
    aggregates = [
        f"member_of{group.suffix}" for group in orphaned if group.aggregates.member_of or group.aggregates.forbidden
    ]
    if aggregates:
        raise BadQuery(
            message="All member_of parameters must be associated with resources. Found the following orphaned "
            f"member_of keys: {', '.join(sorted(aggregates))}"
        )
    if orphaned:
        raise BadQuery(message="All request groups must specify resources.")
    if not groups:
        raise BadQuery(message="At least one request group (`resources` or `resources{$S}`) is required.")


def _check_contradictions(groups: dict[str, RequestGroup], version: int) -> None:
    found = {
        f"required{group.suffix}": sorted(group.traits.contradictions())
        for group in groups.values()
        if group.traits.contradictions()
    }
    if found and version >= CONTRADICTIONS_REFUSED_SINCE:
        listed = ", ".join(f"{name}: ({', '.join(traits)})" for name, traits in sorted(found.items()))
        raise BadQuery(
            message=f"Conflicting required and forbidden traits found in the following traits keys: {listed}"
        )
