"""What ``GET /allocation_candidates`` tells about the providers of its candidates."""

from collections.abc import Iterable

import orjson
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from baremetal_sched.db import packing
from baremetal_sched.db.packing import concatenated, constant, joined, number
from baremetal_sched.placement.candidates.conditions import Source
from baremetal_sched.placement.candidates.query import CandidateRequest
from baremetal_sched.placement.candidates.resolve import TREES_SINCE
from baremetal_sched.placement.names import names_of_classes, names_of_traits
from baremetal_sched.placement.tables import INVENTORIES, PROVIDER_TRAITS, PROVIDERS

TRAITS_SINCE = 17
ALL_CLASSES_SINCE = 27


def line_of(provider: Source, *, traits: bool) -> ColumnElement[str]:
    """What ``Summaries`` wants to know of a provider, as a text: ``id;uuid;parent's id;root's id;inventories;traits``.

    (SELECT GROUP_CONCAT(CONCAT(i.resource_class_id, ':', i.capacity, ':', i.used))
     FROM inventories i WHERE i.provider_id = p.id),
    (SELECT GROUP_CONCAT(t.trait_id) FROM provider_traits t WHERE t.provider_id = p.id)
    """
    nothing = constant("")
    stock, row = INVENTORIES.c, PROVIDER_TRAITS.c
    inventory = concatenated(number(stock.resource_class_id), ":", number(stock.capacity), ":", number(stock.used))
    inventories = select(joined(inventory)).where(stock.provider_id == provider.c.id)
    ids = select(joined(number(row.trait_id))).where(row.provider_id == provider.c.id)
    return concatenated(
        *(number(provider.c.id), ";", provider.c.uuid, ";"),
        *(func.coalesce(number(provider.c.parent_id), nothing), ";", number(provider.c.root_id), ";"),
        *(func.coalesce(inventories.correlate(provider).scalar_subquery(), nothing), ";"),
        func.coalesce(ids.correlate(provider).scalar_subquery(), nothing) if traits else nothing,
    )


_LINES = {traits: packing.packed(PROVIDERS.c.id, line_of(PROVIDERS, traits=traits)) for traits in (False, True)}


class Summaries:
    """What the answer tells about providers, gathered batch by batch.

    ``uuids`` are those of the providers, by id. Thousands of summaries are mostly made of the same few texts, so they
    are written as text.
    """

    def __init__(self, session: Session, request: CandidateRequest, version: int) -> None:
        self.uuids: dict[int, str] = {}
        self._session = session
        self._version = version
        self._requested = {name for group in request.groups.values() for name in group.resources}
        #: The parts of their lines.
        self._providers: list[list[str]] = []

    def load(self, which: ColumnElement[bool]) -> None:
        """Add the providers that are meant: SELECT (many lines) FROM resource_providers p WHERE … GROUP BY p.id >> 6"""
        query = select(_LINES[self._version >= TRAITS_SINCE]).where(which).group_by(packing.packet(PROVIDERS.c.id))
        self.add(packing.lines(self._session.scalars(query)))

    def add(self, lines: Iterable[str]) -> None:
        """Add providers, each as ``line_of`` has it.

        Names of classes and traits are not among that: this process remembers them.
        """
        for line in lines:
            parts = line.split(";")
            self._providers.append(parts)
            self.uuids[int(parts[0])] = parts[1]

    def document(self) -> dict[str, orjson.Fragment]:
        """Summaries by UUID."""
        resources = self._resources()
        traits = self._traits() if self._version >= TRAITS_SINCE else None
        uuids = {row_id: f'"{uuid}"' for row_id, uuid, *_ in self._providers}
        result = {}
        for _, uuid, parent, root, inventories, trait_ids in self._providers:
            text = f'{{"resources":{resources[inventories]}'
            if traits is not None:
                text += f',"traits":{traits[trait_ids]}'
            if self._version >= TREES_SINCE:
                parent, root = uuids.get(parent, "null"), uuids.get(root, "null")
                text += f',"parent_provider_uuid":{parent},"root_provider_uuid":{root}'
            result[uuid] = orjson.Fragment(text + "}")
        return result

    def _resources(self) -> dict[str, str]:
        """JSON of what providers have, by the text of it."""
        parsed = {
            text: [inventory.split(":") for inventory in text.split(",")] if text else []
            for text in {parts[4] for parts in self._providers}
        }
        ids = {class_id for inventories in parsed.values() for class_id, _, _ in inventories}
        known = names_of_classes(self._session, {int(class_id) for class_id in ids})
        names = {class_id: known[int(class_id)] for class_id in ids if int(class_id) in known}
        if self._version < ALL_CLASSES_SINCE:
            names = {class_id: name for class_id, name in names.items() if name in self._requested}
        members = {
            text: [
                f'"{names[class_id]}":{{"capacity":{capacity},"used":{used}}}'
                for class_id, capacity, used in inventories
                if class_id in names
            ]
            for text, inventories in parsed.items()
        }
        return {text: f"{{{','.join(found)}}}" for text, found in members.items()}

    def _traits(self) -> dict[str, str]:
        """JSON of sets of traits, by the text of it; in the order of their ids, as the original has them."""
        texts = {parts[5] for parts in self._providers} - {""}
        parsed = {text: sorted(map(int, text.split(","))) for text in texts}
        ids = set[int]().union(*parsed.values())
        known = names_of_traits(self._session, ids)
        names = {trait: f'"{known[trait]}"' for trait in ids if trait in known}
        return {"": "[]"} | {text: f"[{','.join(filter(None, map(names.get, row)))}]" for text, row in parsed.items()}
