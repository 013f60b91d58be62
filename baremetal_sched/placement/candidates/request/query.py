"""The query string of ``GET /allocation_candidates`` as request groups."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from baremetal_sched.documents.schema import is_tolerant_uuid
from baremetal_sched.errors.placement import BadQuery, BadQueryValue, DuplicateQueryKey, MissingQueryValue
from baremetal_sched.placement.query_values import (
    GROUP_POLICIES,
    LIMIT,
    PREFIX,
    AggregateConditions,
    TraitConditions,
    all_values,
    parse_member_of,
    parse_required,
    parse_resources,
    parse_traits,
)
from baremetal_sched.placement.schemas.common import INT32

_GROUPED = re.compile(r"(resources|required|member_of|in_tree)(.*)", re.DOTALL)

#: A request may have this many conditions. Each is one in SQL too, and databases take a thousand at most.
MOST_CONDITIONS = 500

#: And this many names (a condition may be met by any of several).
MOST_NAMES = 2000

#: From here on a request is large: caching its statements would take a megabyte.
_MANY = 40

CONTRADICTIONS_REFUSED_SINCE = 22
GROUP_POLICY_SINCE = 25
SAME_SUBTREE_SINCE = 36


@dataclass
class RequestGroup:
    """All parameters with one suffix; the request group without a suffix may be served by several providers."""

    suffix: str
    resources: dict[str, int] = field(default_factory=dict)
    traits: TraitConditions = field(default_factory=TraitConditions)
    aggregates: AggregateConditions = field(default_factory=AggregateConditions)
    in_tree: str | None = None

    @property
    def conditions(self) -> int:
        """The number of conditions."""
        traits, aggregates = self.traits, self.aggregates
        places = bool(self.in_tree) + len(aggregates.member_of) + bool(aggregates.forbidden)
        return 1 + len(self.resources) + len(traits.required) + len(traits.forbidden) + places

    @property
    def is_large(self) -> bool:
        """Return whether it has too many conditions to keep statements made for it."""
        return self.conditions > _MANY

    @property
    def mentioned(self) -> int:
        """The number of names in all conditions."""
        traits, aggregates = self.traits, self.aggregates
        any_of = sum(map(len, [*traits.required, *aggregates.member_of]))
        return len(self.resources) + any_of + len(traits.forbidden) + len(aggregates.forbidden)


def check_size(groups: Iterable[RequestGroup], others: int = 0) -> int:
    """Return how many conditions there are in all, ``others`` among them. Raises BadQuery if they are too many."""
    groups = list(groups)
    conditions = others + sum(group.conditions for group in groups)
    names = sum(group.mentioned for group in groups)
    if conditions > MOST_CONDITIONS or names > MOST_NAMES:
        raise BadQuery(
            message=f"{PREFIX}{conditions} conditions with {names} names are too many in one request: "
            f"at most {MOST_CONDITIONS} with {MOST_NAMES} names are accepted."
        )
    return conditions


@dataclass
class CandidateRequest:
    """A request: groups by suffix in the order of the query, and conditions on all of them.

    ``root_required`` are conditions on the root of a candidate's tree. Each set of ``same_subtrees`` names groups of
    which one's provider must be an ancestor of those of the others, or the same. ``anchor``: only candidates of the
    tree with this root (a UUID), which may share with others; no query says that.
    """

    groups: dict[str, RequestGroup]
    limit: int | None = None
    group_policy: str | None = None
    root_required: TraitConditions = field(default_factory=TraitConditions)
    same_subtrees: list[frozenset[str]] = field(default_factory=list)
    anchor: str | None = None

    @property
    def is_large(self) -> bool:
        """Return whether it has too many conditions to keep statements made for it."""
        return sum(group.conditions for group in self.groups.values()) > _MANY


def parse(pairs: Iterable[tuple[str, str]], version: int) -> CandidateRequest:
    """The request in ``pairs``, which fit the schema of the microversion. Raises BadQuery."""
    values = all_values(pairs)
    limit, policy = _first(values, "limit", LIMIT), _first(values, "group_policy", "|".join(GROUP_POLICIES))
    root_required = _root_required(values.get("root_required", []))
    same_subtrees = [_suffixes(text) for text in values.get("same_subtree", [])]
    groups: dict[str, RequestGroup] = {}
    for name, given in values.items():
        match = _GROUPED.fullmatch(name)
        if match:
            kind, suffix = match.groups()
            group = groups.setdefault(suffix, RequestGroup(suffix))
            _fill(group, kind, name, given, version)
    check_size(groups.values(), len(root_required.names()) + len(same_subtrees))
    if version >= SAME_SUBTREE_SINCE:
        _check_subtrees(groups, same_subtrees)
    else:
        _check_complete(groups)
    if version >= CONTRADICTIONS_REFUSED_SINCE:
        _check_contradictions(groups)
    if version >= GROUP_POLICY_SINCE and len([suffix for suffix in groups if suffix]) > 1 and policy is None:
        raise BadQuery(
            message='The "group_policy" parameter is required when specifying more than one "resources{N}" parameter.'
        )
    return CandidateRequest(
        groups, min(int(limit[:11]), INT32) if limit else None, policy, root_required, same_subtrees
    )


def _first(values: dict[str, list[str]], name: str, pattern: str) -> str | None:
    """The first value of a parameter; the schema has seen the last. Raises BadQuery."""
    if name not in values:
        return None
    value = values[name][0]
    if re.fullmatch(pattern, value) is None:
        raise BadQuery(message=f"{PREFIX}'{value}' is not a value of '{name}'.")
    return value


def _root_required(values: Sequence[str]) -> TraitConditions:
    conditions = TraitConditions()
    if len(values) > 1:
        raise DuplicateQueryKey(message="Query parameter 'root_required' may be specified only once.")
    for text in values:
        parse_traits(text, conditions, forbidden_allowed=True, any_allowed=False)
    conflicts = sorted(conditions.contradictions())
    if conflicts:
        raise BadQueryValue(
            message=f"Conflicting required and forbidden traits found in root_required: {', '.join(conflicts)}"
        )
    return conditions


def _suffixes(text: str) -> frozenset[str]:
    suffixes = frozenset(item.strip() for item in text.split(","))
    if "" in suffixes:
        raise BadQueryValue(message="Empty string (unsuffixed group) can not be specified in `same_subtree` ")
    return suffixes


def _fill(group: RequestGroup, kind: str, name: str, values: Sequence[str], version: int) -> None:
    """Of repeated resources and trees the last counts, but each must be well formed."""
    match kind:
        case "resources":
            for text in values:
                group.resources = parse_resources(text)
        case "required":
            group.traits = parse_required(values, version)
        case "member_of":
            group.aggregates = parse_member_of(name, values, version)
        case _:
            for text in values:
                if not is_tolerant_uuid(text.strip()):
                    raise BadQuery(message=f"{PREFIX}Expected 'in_tree' parameter to be a format of uuid. Got: {text}")
                group.in_tree = text.strip()


def _check_subtrees(groups: dict[str, RequestGroup], same_subtrees: list[frozenset[str]]) -> None:
    """A group may lack resources if ``same_subtree`` names it."""
    resourceless = [suffix for suffix, group in groups.items() if not group.resources]
    named = frozenset[str]().union(*same_subtrees)
    if len(resourceless) == len(groups):
        raise MissingQueryValue(message="There must be at least one resources or resources[$S] parameter.")
    unnamed = [suffix for suffix in resourceless if suffix not in named]
    if unnamed:
        raise BadQueryValue(
            message="Resourceless suffixed group request should be specified in `same_subtree` query param: "
            f"bad group(s) - {unnamed}."
        )
    unreal = sorted(named - groups.keys())
    if unreal:
        raise BadQueryValue(
            message=f"Real suffixes should be specified in `same_subtree`: {unreal} not found in {list(groups)}."
        )


def _check_complete(groups: dict[str, RequestGroup]) -> None:
    """Before ``same_subtree`` every group had to ask for resources."""
    orphaned = [group for group in groups.values() if not group.resources]
    traits = [f"required{group.suffix}" for group in orphaned if group.traits.required]
    if traits:
        raise BadQuery(
            message="All traits parameters must be associated with resources.  Found the following orphaned traits "
            f"keys: {', '.join(traits)}"
        )
    aggregates = [
        f"member_of{group.suffix}" for group in orphaned if group.aggregates.member_of or group.aggregates.forbidden
    ]
    if aggregates:
        raise BadQuery(
            message="All member_of parameters must be associated with resources. Found the following orphaned "
            f"member_of keys: {', '.join(aggregates)}"
        )
    if orphaned:
        raise BadQuery(message="All request groups must specify resources.")
    if not groups:
        raise BadQuery(message="At least one request group (`resources` or `resources{$S}`) is required.")


def _check_contradictions(groups: dict[str, RequestGroup]) -> None:
    found = [
        f"required{group.suffix}: ({', '.join(sorted(wanted))})"
        for group in groups.values()
        for wanted in group.traits.required
        if wanted <= group.traits.forbidden
    ]
    if found:
        raise BadQuery(
            message="Conflicting required and forbidden traits found in the following traits keys: "
            + ", ".join(sorted(found))
        )
