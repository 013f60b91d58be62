"""The answer to ``GET /allocation_candidates``, by microversion."""

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, select

from baremetal_sched.placement.candidates.conditions import one_of
from baremetal_sched.placement.candidates.query import CandidateRequest
from baremetal_sched.placement.candidates.resolve import TREES_SINCE
from baremetal_sched.placement.candidates.summaries import Summaries
from baremetal_sched.placement.candidates.trees import Candidate
from baremetal_sched.placement.schemas.allocations import KEYED_SINCE, MAPPINGS_SINCE
from baremetal_sched.placement.tables import PROVIDERS

#: Databases limit the size of a statement; so many providers or trees are asked about at once.
_BATCH = 1000

#: Stands for a UUID.
_ANY = "{uuid}"


def build(
    connection: Connection, found: Sequence[Candidate], request: CandidateRequest, version: int
) -> dict[str, Any]:
    """The document. The number of statements does not depend on the number of candidates, up to a batch of them."""
    summaries = Summaries(connection, request, version)
    if version >= TREES_SINCE:
        column, ids = PROVIDERS.c.root_id, set[int]().union(*(candidate.roots for candidate in found))
        anchors = {candidate.anchor.root_id: candidate.anchor for candidate in found if candidate.anchor}
        known = {root_id: anchor.lines for root_id, anchor in anchors.items() if root_id in ids and anchor.lines}
        summaries.add(line for tree in known.values() for line in tree)
        ids -= known.keys()
    else:
        column, ids = PROVIDERS.c.id, {row_id for candidate in found for row_id in candidate.allocations}
    ordered = sorted(ids)
    for start in range(0, len(ordered), _BATCH):
        summaries.load(column, ordered[start : start + _BATCH])
    uuids = _uuids(connection, found, summaries, version)
    return {
        "allocation_requests": [
            _allocation_request(candidate, uuids, version)
            for candidate in found
            # A provider may be deleted between two statements.
            if uuids.keys() >= candidate.allocations.keys()
        ],
        "provider_summaries": summaries.document(),
    }


def render_each(resources: dict[str, int], suffix: str, summaries: Summaries, version: int) -> dict[str, Any]:
    """The document where every provider of the summaries is a candidate, and gives ``resources`` to the group with this
    suffix. All candidates are one text, with another UUID in each."""
    alone = _allocation_request(Candidate({0: resources}, {suffix: [0]}, {0}), {0: _ANY}, version)
    text = orjson.dumps(alone).decode()
    requests = ",".join(text.replace(_ANY, uuid) for uuid in summaries.uuids())
    return {"allocation_requests": orjson.Fragment(f"[{requests}]"), "provider_summaries": summaries.document()}


def _allocation_request(candidate: Candidate, uuids: dict[int, str], version: int) -> dict[str, Any]:
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


def _uuids(connection: Connection, found: Sequence[Candidate], summaries: Summaries, version: int) -> dict[int, str]:
    """UUIDs of all providers that the candidates name, by id."""
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
