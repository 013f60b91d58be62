"""The answer to ``GET /allocation_candidates``, by microversion."""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, select

from baremetal_sched.documents.json_template import Template, part
from baremetal_sched.placement.candidates.answer.summaries import Summaries
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.candidates.request.resolve import TREES_SINCE
from baremetal_sched.placement.candidates.sql.conditions import one_of
from baremetal_sched.placement.candidates.trees.candidate import Candidate, Found, Pattern, PatternMatch
from baremetal_sched.placement.schemas.allocations import KEYED_SINCE, MAPPINGS_SINCE
from baremetal_sched.placement.tables import PROVIDERS

#: Databases limit the size of a statement; this many providers or trees are asked about at once.
_BATCH = 1000

#: At most this many patterns are remembered.
_MOST_SEEN = 10_000


def build(connection: Connection, found: Iterable[Found], request: CandidateRequest, version: int) -> dict[str, Any]:
    """Return the document. The number of statements does not depend on the number of candidates, up to a batch of them;
    the first of these statements runs after ``found`` is exhausted.

    Each statement sees its own moment, except on SQLite: a candidate whose provider was deleted meanwhile is left out.
    Raises what ``found`` raises.
    """
    summaries = Summaries(connection, request, version)
    patterns = _PatternTexts(version)
    requests: list[str | Found] = []
    told: set[int] = set()
    for candidate in found:
        # Below the microversion that shows trees, providers that give something are read again: some may be gone.
        if version < TREES_SINCE or not isinstance(candidate, PatternMatch):
            requests.append(candidate)
            continue
        requests.append(patterns.text(candidate))
        fresh = candidate.roots - told
        if fresh:
            summaries.add(candidate.anchor.rows)
            told |= fresh
    others = [candidate for candidate in requests if not isinstance(candidate, str)]
    _tell(summaries, others, told, version)
    uuids = _uuids(connection, others, summaries, version)
    texts = [text if isinstance(text, str) else _text(text, uuids, version) for text in requests]
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

    def text(self, match: PatternMatch) -> str:
        """Return the allocation request."""
        pattern, uuid_at = match.pattern, match.anchor.uuid_at
        known = self._patterns.get(pattern)
        if known is None:
            places = list(pattern.places())
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


def _text(candidate: Found, uuids: dict[int, str], version: int) -> str | None:
    """Return the allocation request; None if a provider was deleted between two statements."""
    if uuids.keys() >= candidate.allocations.keys():
        return orjson.dumps(_allocation_request(candidate, uuids, version)).decode()
    return None


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


def _uuids(connection: Connection, found: Sequence[Found], summaries: Summaries, version: int) -> dict[int, str]:
    """Return the UUIDs of all providers that the candidates name, by id."""
    ids = {row_id for candidate in found for row_id in candidate.allocations}
    if version >= MAPPINGS_SINCE:
        ids.update(row_id for candidate in found for row_ids in candidate.mappings.values() for row_id in row_ids)
    uuids = summaries.uuids_of(ids)
    missing = ids - uuids.keys()
    if missing:
        # Mapped to a group without resources, in a tree that gives nothing.
        query = select(PROVIDERS.c.id, PROVIDERS.c.uuid).where(one_of(PROVIDERS.c.id, missing))
        uuids.update({row_id: uuid for row_id, uuid in connection.execute(query)})
    return uuids
