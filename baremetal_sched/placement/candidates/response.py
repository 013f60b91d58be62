"""The answer to ``GET /allocation_candidates``, by microversion."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import Inventory, ProviderTrait, ResourceClass, Trait
from baremetal_sched.placement.schemas.allocations import KEYED_SINCE, MAPPINGS_SINCE

SUMMARY_TRAITS_SINCE = 17
ALL_CLASSES_SINCE = 27
TREES_SINCE = 29


def build(
    session: Session, found: Sequence[tuple[int, str]], resources: dict[str, int], version: int
) -> dict[str, Any]:
    """The document for providers (id and UUID) that each give all of ``resources``."""
    return {
        "allocation_requests": [_request(uuid, resources, version) for _, uuid in found],
        "provider_summaries": _summaries(session, found, resources, version),
    }


def _request(uuid: str, resources: dict[str, int], version: int) -> dict[str, Any]:
    if version < KEYED_SINCE:
        return {"allocations": [{"resource_provider": {"uuid": uuid}, "resources": resources}]}
    request: dict[str, Any] = {"allocations": {uuid: {"resources": resources}}}
    if version >= MAPPINGS_SINCE:
        request["mappings"] = {"": [uuid]}
    return request


def _summaries(
    session: Session, found: Sequence[tuple[int, str]], resources: dict[str, int], version: int
) -> dict[str, Any]:
    """Two statements, however many providers there are."""
    uuids = dict(found)
    summaries: dict[int, dict[str, Any]] = {provider_id: {"resources": {}} for provider_id in uuids}
    if not summaries:
        return {}
    for provider_id, name, capacity, used in _inventories(session, list(uuids)):
        if version >= ALL_CLASSES_SINCE or name in resources:
            summaries[provider_id]["resources"][name] = {"capacity": capacity, "used": used}
    if version >= SUMMARY_TRAITS_SINCE:
        for summary in summaries.values():
            summary["traits"] = []
        for provider_id, name in _traits(session, list(uuids)):
            summaries[provider_id]["traits"].append(name)
    if version >= TREES_SINCE:
        for provider_id, summary in summaries.items():
            summary |= {"parent_provider_uuid": None, "root_provider_uuid": uuids[provider_id]}
    return {uuids[provider_id]: summary for provider_id, summary in summaries.items()}


#: Databases limit the parameters of a statement; SQLite's limit is the lowest that we meet.
_BATCH = 10_000


def _inventories(session: Session, provider_ids: list[int]) -> list[Any]:
    rows: list[Any] = []
    for start in range(0, len(provider_ids), _BATCH):
        rows += session.execute(
            select(Inventory.provider_id, ResourceClass.name, Inventory.capacity, Inventory.used)
            .join(ResourceClass, ResourceClass.id == Inventory.resource_class_id)
            .where(Inventory.provider_id.in_(provider_ids[start : start + _BATCH]))
        ).all()
    return rows


def _traits(session: Session, provider_ids: list[int]) -> list[Any]:
    rows: list[Any] = []
    for start in range(0, len(provider_ids), _BATCH):
        rows += session.execute(
            select(ProviderTrait.provider_id, Trait.name)
            .join(Trait, Trait.id == ProviderTrait.trait_id)
            .where(ProviderTrait.provider_id.in_(provider_ids[start : start + _BATCH]))
        ).all()
    return rows
