"""What ``GET /allocation_candidates`` tells about the providers of its candidates."""

from collections.abc import Iterable

import orjson
from sqlalchemy import Column, Connection

from baremetal_sched.db.transaction import remembered
from baremetal_sched.placement import trait_ids
from baremetal_sched.placement.candidates import lines, reading
from baremetal_sched.placement.candidates.lines import Line
from baremetal_sched.placement.candidates.query import CandidateRequest
from baremetal_sched.placement.candidates.resolve import TREES_SINCE
from baremetal_sched.placement.names import names_of_classes, names_of_traits

TRAITS_SINCE = 17
ALL_CLASSES_SINCE = 27


class Summaries:
    """What the answer tells about providers, gathered batch by batch.

    Thousands of summaries are mostly made of the same few texts, so they are written as text.
    """

    def __init__(self, connection: Connection, request: CandidateRequest, version: int) -> None:
        self._connection = connection
        self._version = version
        self._requested = {name for group in request.groups.values() for name in group.resources}
        self._lines: list[Line] = []

    def load(self, column: Column[int], ids: Iterable[int]) -> None:
        """Add the providers whose ``column`` (``PROVIDERS.c.id`` or ``root_id``) is one of ``ids``."""
        self.add(reading.load_those(self._connection, column, ids, traits=self._version >= TRAITS_SINCE))

    def add(self, providers: Iterable[Line]) -> None:
        """Add providers.

        Names of classes and traits are not among what is read of them: this process remembers those.
        """
        self._lines += providers

    def uuids(self) -> list[str]:
        """Those of all providers, in the order in which they were added."""
        return [line[1][1:-1] for line in self._lines]

    def uuids_of(self, ids: set[int]) -> dict[int, str]:
        """UUIDs of those of the providers that are meant, by id."""
        wanted = set(map(str, ids))
        return {int(line[0]): line[1][1:-1] for line in self._lines if line[0] in wanted}

    def document(self) -> orjson.Fragment:
        """Summaries by UUID."""
        resources = self._resources()
        traits = self._traits() if self._version >= TRAITS_SINCE else {}
        uuids = {line[0]: line[1] for line in self._lines}
        if self._version >= TREES_SINCE:
            members = [
                f'{uuid}:{{"resources":{resources[inventories]},"traits":{traits[trait_ids]},'
                f'"parent_provider_uuid":{uuids.get(parent, "null")},"root_provider_uuid":{uuids.get(root, "null")}}}'
                for _, uuid, parent, root, inventories, trait_ids in self._lines
            ]
        else:
            members = [
                f'{uuid}:{{"resources":{resources[inventories]}'
                + (f',"traits":{traits[trait_ids]}}}' if self._version >= TRAITS_SINCE else "}")
                for _, uuid, _, _, inventories, trait_ids in self._lines
            ]
        return orjson.Fragment(f"{{{','.join(members)}}}")

    def _resources(self) -> dict[str, str]:
        """JSON of what providers have, by the text of it."""
        parsed = {text: lines.inventories(text) for text in {line[4] for line in self._lines}}
        ids = {class_id for inventories in parsed.values() for class_id, *_ in inventories}
        known = names_of_classes(self._connection, {int(class_id) for class_id in ids})
        names = {class_id: known[int(class_id)] for class_id in ids if int(class_id) in known}
        if self._version < ALL_CLASSES_SINCE:
            names = {class_id: name for class_id, name in names.items() if name in self._requested}
        members = {
            text: [
                f'"{names[class_id]}":{{"capacity":{capacity},"used":{used}}}'
                for class_id, capacity, used, *_ in inventories
                if class_id in names
            ]
            for text, inventories in parsed.items()
        }
        return {text: f"{{{','.join(found)}}}" for text, found in members.items()}

    def _traits(self) -> dict[str, str]:
        """JSON of sets of traits, by the text of it; in the order of their ids, as the original has them."""
        found = {text: trait_ids.texts_in(text) for text in {line[5] for line in self._lines}}
        # Traits by the text of their ids, which saves making numbers of thousands of them.
        quoted: dict[str, str] = remembered(self._connection).setdefault(Summaries, {})
        try:
            return {text: f"[{','.join(map(quoted.__getitem__, ids))}]" for text, ids in found.items()}
        except KeyError:
            missing = {int(row_id) for ids in found.values() for row_id in ids if row_id not in quoted}
            known = names_of_traits(self._connection, missing)
            quoted.update({str(row_id): f'"{name}"' for row_id, name in known.items()})
            return {text: f"[{','.join(filter(None, map(quoted.get, ids)))}]" for text, ids in found.items()}
