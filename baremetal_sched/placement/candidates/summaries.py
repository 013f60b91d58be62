"""What ``GET /allocation_candidates`` tells about the providers of its candidates."""

from typing import Any

from sqlalchemy import ColumnElement, String, cast, null, select
from sqlalchemy.orm import Session

from baremetal_sched.db.packing import joined
from baremetal_sched.db.types import Rows
from baremetal_sched.placement.candidates.conditions import Source
from baremetal_sched.placement.candidates.query import CandidateRequest
from baremetal_sched.placement.candidates.resolve import TREES_SINCE
from baremetal_sched.placement.names import names_of_classes, names_of_traits
from baremetal_sched.placement.tables import INVENTORIES, PROVIDER_TRAITS, PROVIDERS

TRAITS_SINCE = 17
ALL_CLASSES_SINCE = 27


def traits_of(provider: Source) -> ColumnElement[str]:
    """(SELECT GROUP_CONCAT(t.trait_id) FROM provider_traits t WHERE t.provider_id = p.id)"""
    ids = joined(cast(PROVIDER_TRAITS.c.trait_id, String(11)))
    return select(ids).where(PROVIDER_TRAITS.c.provider_id == provider.c.id).correlate(provider).scalar_subquery()


#: What ``Summaries`` wants to know of a provider and one of its inventories.
_COLUMNS = (
    *(PROVIDERS.c.id, PROVIDERS.c.uuid, PROVIDERS.c.parent_id, PROVIDERS.c.root_id),
    *(INVENTORIES.c.resource_class_id, INVENTORIES.c.capacity, INVENTORIES.c.used),
)
_SOURCE = PROVIDERS.outerjoin(INVENTORIES, INVENTORIES.c.provider_id == PROVIDERS.c.id)
_TRAITS = traits_of(PROVIDERS)


class Summaries:
    """What the answer tells about providers, gathered batch by batch.

    ``uuids`` are those of the providers, by id.
    """

    def __init__(self, session: Session, request: CandidateRequest, version: int) -> None:
        self.uuids: dict[int, str] = {}
        self._session = session
        self._version = version
        self._requested = {name for group in request.groups.values() for name in group.resources}
        self._summaries: dict[int, dict[str, Any]] = {}
        self._traits: dict[int, list[int]] = {}
        self._relations: list[tuple[dict[str, Any], int | None, int]] = []

    def load(self, which: ColumnElement[bool]) -> None:
        """Add the providers that are meant.

        SELECT … FROM resource_providers p LEFT JOIN inventories i ON i.provider_id = p.id WHERE … ORDER BY p.id
        """
        query = (
            select(*_COLUMNS, _TRAITS if self._version >= TRAITS_SINCE else null())
            .select_from(_SOURCE)
            .where(which)
            .order_by(PROVIDERS.c.id)
        )
        self.add(self._session.execute(query).all())

    def add(self, rows: Rows) -> None:
        """Add providers from rows of id, uuid, parent id, root id, class id, capacity, used and ids of all traits, as
        text, those of one provider next to each other.

        Names of classes and traits are not among them: this process remembers them.
        """
        names = names_of_classes(self._session, {row[4] for row in rows if row[4] is not None})
        all_classes, trees = self._version >= ALL_CLASSES_SINCE, self._version >= TREES_SINCE
        last: int | None = None
        resources: dict[str, Any] = {}
        for row_id, uuid, parent_id, root_id, class_id, capacity, used, traits in rows:
            if row_id != last:
                last, resources = row_id, {}
                summary = self._summaries[row_id] = {"resources": resources}
                self.uuids[row_id] = uuid
                if traits is not None:
                    self._traits[row_id] = list(map(int, traits.split(",")))
                if trees:
                    self._relations.append((summary, parent_id, root_id))
            if class_id in names and (all_classes or names[class_id] in self._requested):
                resources[names[class_id]] = {"capacity": capacity, "used": used}

    def document(self) -> dict[str, Any]:
        """Summaries by UUID."""
        if self._version >= TRAITS_SINCE:
            names = names_of_traits(self._session, set[int]().union(*self._traits.values()))
            for row_id, summary in self._summaries.items():
                # In the order of their ids: the standard ones first, as the original has them.
                summary["traits"] = [names[trait] for trait in sorted(self._traits.get(row_id, ())) if trait in names]
        uuids = self.uuids
        for summary, parent_id, root_id in self._relations:
            summary["parent_provider_uuid"] = None if parent_id is None else uuids.get(parent_id)
            summary["root_provider_uuid"] = uuids.get(root_id)
        return {uuids[row_id]: summary for row_id, summary in self._summaries.items()}
