"""The answer to ``GET /allocation_candidates``, by microversion: allocation requests, and what providers have."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson
from sqlalchemy import Column, Connection, select

from baremetal_sched.db.models import ResourceClass, Trait
from baremetal_sched.documents.json_template import Template, part
from baremetal_sched.placement import name_memory, trait_ids
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.candidates.request.resolve import TREES_SINCE
from baremetal_sched.placement.candidates.sql import provider_rows
from baremetal_sched.placement.candidates.sql.conditions import one_of
from baremetal_sched.placement.candidates.sql.provider_rows import ByText
from baremetal_sched.placement.candidates.trees.candidate import Candidate, Found, Pattern, PatternMatch
from baremetal_sched.placement.candidates.trees.providers import ProviderRow
from baremetal_sched.placement.names import names_of
from baremetal_sched.placement.schemas.allocations import KEYED_SINCE, MAPPINGS_SINCE
from baremetal_sched.placement.tables import PROVIDERS

TRAITS_SINCE = 17
ALL_CLASSES_SINCE = 27


class Summaries:
    """The summaries of providers in the answer, gathered batch by batch.

    Thousands of summaries are mostly made of the same few texts, so they are written as text: at once, while the
    database looks for others, if this process remembers all names of classes and traits; otherwise in the end.
    """

    def __init__(self, connection: Connection, request: CandidateRequest, version: int) -> None:
        self._connection = connection
        self._version = version
        self._rows: list[ProviderRow] = []
        self._members: list[str] = []
        self._unnamed: list[Sequence[ProviderRow]] = []
        requested = {name for group in request.groups.values() for name in group.resources}
        # An object of its own: what refers to itself stays in memory until the garbage collector runs.
        self._parts = _Parts(connection, requested, version)
        self._resources = ByText(self._parts.resources)
        self._traits = ByText(self._parts.traits)

    def load(self, column: Column[int], ids: Iterable[int]) -> None:
        """Add the providers whose ``column`` (``PROVIDERS.c.id`` or ``root_id``) is one of ``ids``."""
        self.add(provider_rows.load_those(self._connection, column, ids, traits=self._version >= TRAITS_SINCE))

    def add(self, providers: Sequence[ProviderRow]) -> None:
        """Add providers, and with each its tree, if the answer tells of trees. There is no statement."""
        self._rows += providers
        try:
            self._members += self._written(providers)
        except KeyError:
            self._unnamed.append(providers)

    def uuids(self) -> list[str]:
        """Return the UUIDs of all providers, in the order in which they were added."""
        return [row.uuid for row in self._rows]

    def uuids_of(self, ids: set[int]) -> dict[int, str]:
        """Return the UUIDs of the providers with these ids, by id."""
        return {row.id: row.uuid for row in self._rows if row.id in ids} if ids else {}

    def document(self) -> orjson.Fragment:
        """Return the summaries by UUID. It takes two statements at most, for names."""
        if self._unnamed:
            self._parts.look_up(self._connection, [row for providers in self._unnamed for row in providers])
            for providers in self._unnamed:
                self._members += self._written(providers)
        return orjson.Fragment(f"{{{','.join(self._members)}}}")

    def _written(self, providers: Sequence[ProviderRow]) -> list[str]:
        """Members of the document. Raises KeyError for a name that must be looked up."""
        resources, traits = self._resources, self._traits
        if self._version < TREES_SINCE:
            return [f'"{uuid}":{{{resources[stock]}{traits[ids]}}}' for _, uuid, _, _, stock, ids in providers]
        uuids: dict[int | None, str] = {row.id: f'"{row.uuid}"' for row in providers}
        uuid_of = uuids.get
        return [
            f'"{uuid}":{{{resources[stock]}{traits[ids]},'
            f'"parent_provider_uuid":{uuid_of(parent, "null")},"root_provider_uuid":{uuid_of(root, "null")}}}'
            for _, uuid, parent, root, stock, ids in providers
        ]


class _Parts:
    """Writes columns of a row as members of its summary. Until ``look_up``, names that this process does not remember
    raise KeyError."""

    def __init__(self, connection: Connection, requested: set[str], version: int) -> None:
        self._requested = requested
        self._version = version
        names = name_memory.of(connection).names
        self._classes: Mapping[int, str] = names[ResourceClass]
        self._names: Mapping[int, str] = names[Trait]
        self._looked_up = False

    def resources(self, stock: str) -> str:
        """The inventories and traits of a provider. A class without a name is one that was deleted."""
        found = {}
        for class_id, capacity, used, *_ in provider_rows.inventories(stock):
            name = self._classes.get(class_id) if self._looked_up else self._classes[class_id]
            if name and (self._version >= ALL_CLASSES_SINCE or name in self._requested):
                found[name] = {"capacity": capacity, "used": used}
        return f'"resources":{orjson.dumps(found).decode()}'

    def traits(self, text: str) -> str:
        """A set of traits, in the order of their ids, as the original has them; nothing if the version has none."""
        if self._version < TRAITS_SINCE:
            return ""
        names = self._names
        found = [names[row_id] for row_id in trait_ids.ids_in(text) if row_id in names or not self._looked_up]
        return f',"traits":{orjson.dumps(found).decode()}'

    def look_up(self, connection: Connection, providers: Sequence[ProviderRow]) -> None:
        """Learn all names that these providers need and that there are."""
        stocks, traits = {row.stock for row in providers}, {row.traits for row in providers}
        classes = {class_id for stock in stocks for class_id, *_ in provider_rows.inventories(stock)}
        self._classes = names_of(connection, ResourceClass, classes)
        if self._version >= TRAITS_SINCE:
            ids = {row_id for text in traits for row_id in trait_ids.ids_in(text)}
            self._names = names_of(connection, Trait, ids)
        self._looked_up = True


#: Databases limit the size of a statement; this many providers or trees are read at once.
_BATCH = 1000

#: At most this many patterns are remembered.
_MOST_SEEN = 10_000


def build(connection: Connection, found: Iterable[Found], request: CandidateRequest, version: int) -> dict[str, Any]:
    """Return the document. The number of statements does not depend on the number of candidates, up to a batch of them;
    the first of these statements runs after ``found`` is exhausted.

    Each statement sees its own moment, except on SQLite: a candidate whose provider has been deleted is left out.
    Raises what ``found`` raises.
    """
    summaries = Summaries(connection, request, version)
    patterns = _PatternTexts(version)
    requests: list[str | Found] = []
    told: set[int] = set()
    for candidate in found:
        # Providers that are read again may be gone: those of other trees and, below the microversion that shows trees,
        # all that give something.
        if version < TREES_SINCE or not isinstance(candidate, PatternMatch) or candidate.anchor.sharing:
            requests.append(candidate)
            continue
        requests.append(patterns.text(candidate, candidate.anchor.uuid_at))
        fresh = candidate.roots - told
        if fresh:
            summaries.add(candidate.anchor.rows)
            told |= fresh
    others = [candidate for candidate in requests if not isinstance(candidate, str)]
    _tell(summaries, others, told, version)
    uuids = _uuids(connection, others, summaries)
    texts = [text if isinstance(text, str) else patterns.text_of(text, uuids) for text in requests]
    return {
        "allocation_requests": orjson.Fragment(f"[{','.join(filter(None, texts))}]"),
        "provider_summaries": summaries.document(),
    }


def _tell(summaries: Summaries, found: Sequence[Found], told: set[int], version: int) -> None:
    """Add the candidates' providers or trees to the summaries, except for the trees that are ``told``."""
    if version >= TREES_SINCE:
        column, ids = PROVIDERS.c.root_id, set[int]().union(*(candidate.roots for candidate in found)) - told
        anchors = {candidate.anchor.root_id: candidate.anchor for candidate in found if candidate.anchor}
        known = [anchor for root_id, anchor in anchors.items() if root_id in ids]
        for anchor in known:
            summaries.add(anchor.rows)
            ids.remove(anchor.root_id)
    else:
        column, ids = PROVIDERS.c.id, {row_id for candidate in found for row_id in candidate.allocations}
    ordered = sorted(ids)
    for start in range(0, len(ordered), _BATCH):
        summaries.load(column, ordered[start : start + _BATCH])


def render_each(resources: dict[str, int], suffix: str, summaries: Summaries, version: int) -> dict[str, Any]:
    """Return the document where every provider of the summaries is a candidate, and gives ``resources`` to the group
    with this suffix. All candidates are alike, with another UUID in each."""
    alone = Template(_allocation_request(Candidate({0: resources}, {suffix: [0]}, {0}), {0: part(0)}, version))
    requests = ",".join(map(alone.fill, summaries.uuids()))
    return {"allocation_requests": orjson.Fragment(f"[{requests}]"), "provider_summaries": summaries.document()}


class _PatternTexts:
    """Allocation requests of patterns, as texts: all are like that of their pattern, with other UUIDs."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._seen: set[Pattern] = set()
        self._patterns: dict[Pattern, tuple[Template, list[int]]] = {}

    def text_of(self, candidate: Found, uuids: dict[int, str]) -> str | None:
        """Return the allocation request; None if a provider was deleted between two statements."""
        if isinstance(candidate, PatternMatch):
            with suppress(KeyError):
                return self.text(candidate, lambda place: uuids[candidate.anchor.id_at(place)])
        if uuids.keys() >= candidate.allocations.keys():
            return orjson.dumps(_allocation_request(candidate, uuids, self._version)).decode()
        return None

    def text(self, match: PatternMatch, uuid_at: Callable[[int], str]) -> str:
        """Return the allocation request."""
        pattern = match.pattern
        known = self._patterns.get(pattern)
        if known is None:
            places = list(pattern.places)
            if pattern not in self._seen:
                # One large tree may have thousands of candidates, and no other tree looks like it.
                if len(self._seen) < _MOST_SEEN:
                    self._seen.add(pattern)
                return orjson.dumps(self._document(pattern, {place: uuid_at(place) for place in places})).decode()
            uuids = {place: part(number) for number, place in enumerate(places)}
            known = self._patterns[pattern] = Template(self._document(pattern, uuids)), places
        template, places = known
        return template.fill(*map(uuid_at, places))

    def _document(self, pattern: Pattern, uuids: dict[int, str]) -> dict[str, Any]:
        candidate = Candidate(dict(pattern.allocations), dict(pattern.mappings), set())
        return _allocation_request(candidate, uuids, self._version)


def _allocation_request(candidate: Found, uuids: dict[int, str], version: int) -> dict[str, Any]:
    if version < KEYED_SINCE:
        return {
            "allocations": [
                {"resource_provider": {"uuid": uuids[row_id]}, "resources": resources}
                for row_id, resources in candidate.allocations.items()
            ]
        }
    allocations = {uuids[row_id]: {"resources": resources} for row_id, resources in candidate.allocations.items()}
    if version < MAPPINGS_SINCE:
        return {"allocations": allocations}
    mappings = {
        suffix: [uuids[row_id] for row_id in row_ids if row_id in uuids]
        for suffix, row_ids in candidate.mappings.items()
    }
    return {"allocations": allocations, "mappings": mappings}


def _uuids(connection: Connection, found: Sequence[Found], summaries: Summaries) -> dict[int, str]:
    """Return the UUIDs of all providers that the candidates name, by id."""
    ids = set[int]().union(*(candidate.ids for candidate in found))
    uuids = summaries.uuids_of(ids)
    missing = ids - uuids.keys()
    if missing:
        # Mapped to a group without resources, in a tree that gives nothing.
        query = select(PROVIDERS.c.id, PROVIDERS.c.uuid).where(one_of(PROVIDERS.c.id, missing))
        uuids.update({row_id: uuid for row_id, uuid in connection.execute(query)})
    return uuids
