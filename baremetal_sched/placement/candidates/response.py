"""The answer to ``GET /allocation_candidates``, by microversion."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, String, cast, null, select
from sqlalchemy.orm import Session

from baremetal_sched.db.aggregate import joined
from baremetal_sched.db.types import Query
from baremetal_sched.placement.candidates.conditions import one_of
from baremetal_sched.placement.candidates.query import CandidateRequest
from baremetal_sched.placement.candidates.resolve import TREES_SINCE
from baremetal_sched.placement.candidates.trees import Candidate
from baremetal_sched.placement.schemas.allocations import KEYED_SINCE, MAPPINGS_SINCE
from baremetal_sched.placement.tables import CLASSES, INVENTORIES, PROVIDER_TRAITS, PROVIDERS, TRAITS

SUMMARY_TRAITS_SINCE = 17
ALL_CLASSES_SINCE = 27

#: Databases limit the size of a statement; so many providers or trees are asked about at once.
_BATCH = 1000


def build(session: Session, found: Sequence[Candidate], request: CandidateRequest, version: int) -> dict[str, Any]:
    """The document. The number of statements does not depend on the number of candidates, up to a batch of them."""
    if not found:
        return {"allocation_requests": [], "provider_summaries": {}}
    if version >= TREES_SINCE:
        column, ids = PROVIDERS.c.root_id, set[int]().union(*(candidate.roots for candidate in found))
    else:
        column, ids = PROVIDERS.c.id, {row_id for candidate in found for row_id in candidate.allocations}
    summaries = _Summaries(session, request, version)
    ordered = sorted(ids)
    for start in range(0, len(ordered), _BATCH):
        summaries.add(one_of(column, ordered[start : start + _BATCH]))
    uuids = summaries.uuids
    _add_mapped(session, found, version, uuids)
    return {
        "allocation_requests": [
            _allocation_request(candidate, uuids, version)
            for candidate in found
            # A provider may be deleted between two statements.
            if uuids.keys() >= candidate.allocations.keys()
        ],
        "provider_summaries": summaries.document(),
    }


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


def _add_mapped(session: Session, found: Sequence[Candidate], version: int, uuids: dict[int, str]) -> None:
    """UUIDs of providers that are mapped to a group without resources, in a tree that gives nothing."""
    if version < MAPPINGS_SINCE or len(found[0].mappings) == 1:
        return
    missing = {
        row_id for candidate in found for row_ids in candidate.mappings.values() for row_id in row_ids
    } - uuids.keys()
    if missing:
        query = select(PROVIDERS.c.id, PROVIDERS.c.uuid).where(one_of(PROVIDERS.c.id, missing))
        uuids.update({row_id: uuid for row_id, uuid in session.execute(query)})


class _Summaries:
    """What the answer tells about providers, gathered batch by batch."""

    def __init__(self, session: Session, request: CandidateRequest, version: int) -> None:
        self.uuids: dict[int, str] = {}
        self._session = session
        self._version = version
        self._requested = {name for group in request.groups.values() for name in group.resources}
        self._summaries: dict[int, dict[str, Any]] = {}
        self._traits: dict[int, list[str]] = {}
        self._relations: list[tuple[dict[str, Any], int | None, int]] = []

    def add(self, which: ColumnElement[bool]) -> None:
        """SELECT p.…, i.…, (SELECT GROUP_CONCAT(t.trait_id) FROM provider_traits t WHERE t.provider_id = p.id)
        FROM resource_providers p LEFT JOIN inventories i ON i.provider_id = p.id … WHERE …
        """
        query = self._query().where(which).order_by(PROVIDERS.c.id)
        all_classes, trees = self._version >= ALL_CLASSES_SINCE, self._version >= TREES_SINCE
        last: int | None = None
        resources: dict[str, Any] = {}
        for row_id, uuid, parent_id, root_id, name, capacity, used, traits in self._session.execute(query).all():
            if row_id != last:
                last, resources = row_id, {}
                summary = self._summaries[row_id] = {"resources": resources}
                self.uuids[row_id] = uuid
                if traits is not None:
                    self._traits[row_id] = traits.split(",")
                if trees:
                    self._relations.append((summary, parent_id, root_id))
            if name is not None and (all_classes or name in self._requested):
                resources[name] = {"capacity": capacity, "used": used}

    def _query(self) -> Query:
        p, i = PROVIDERS.c, INVENTORIES.c
        traits: ColumnElement[Any] = null()
        if self._version >= SUMMARY_TRAITS_SINCE:
            traits = (
                select(joined(cast(PROVIDER_TRAITS.c.trait_id, String(11))))
                .where(PROVIDER_TRAITS.c.provider_id == p.id)
                .correlate(PROVIDERS)
                .scalar_subquery()
            )
        inventories = PROVIDERS.outerjoin(INVENTORIES, i.provider_id == p.id)
        return select(p.id, p.uuid, p.parent_id, p.root_id, CLASSES.c.name, i.capacity, i.used, traits).select_from(
            inventories.outerjoin(CLASSES, CLASSES.c.id == i.resource_class_id)
        )

    def document(self) -> dict[str, Any]:
        """Summaries by UUID."""
        if self._version >= SUMMARY_TRAITS_SINCE:
            names = self._trait_names()
            for row_id, summary in self._summaries.items():
                traits = self._traits.get(row_id, ())
                # In the order of their ids: the standard ones first, as the original has them.
                summary["traits"] = [names[trait] for trait in sorted(traits, key=int) if trait in names]
        uuids = self.uuids
        for summary, parent_id, root_id in self._relations:
            summary["parent_provider_uuid"] = None if parent_id is None else uuids.get(parent_id)
            summary["root_provider_uuid"] = uuids.get(root_id)
        return {uuids[row_id]: summary for row_id, summary in self._summaries.items()}

    def _trait_names(self) -> dict[str, str]:
        mentioned = set[str]().union(*self._traits.values())
        if not mentioned:
            return {}
        query = select(TRAITS.c.id, TRAITS.c.name).where(one_of(TRAITS.c.id, map(int, mentioned)))
        return {str(row_id): name for row_id, name in self._session.execute(query)}
