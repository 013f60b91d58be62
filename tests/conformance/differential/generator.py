"""Random calls, mostly sensible, now and then spoilt."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.differential import queries, writes
from tests.conformance.differential.calls import Call, Generation, Raw
from tests.conformance.differential.dice import Dice
from tests.conformance.differential.world import CONSUMERS

_ODD = (None, True, 0, -1, 1, 3.0, 1.5, 2**31 - 1, 2**31, "", "x", "CUSTOM_A", "é", "x" * 256, [], {}, [1], {"x": 1})
_ADMIN = ("X-Auth-Token", "admin")


def strange(dice: Dice) -> Call:
    """Unknown paths and methods, versions that there are not."""
    uuid = dice.provider()
    paths = [
        "/",
        "/nothing",
        "/resource_providers/",
        f"/resource_providers/{uuid}/nothing",
        f"/resource_providers/{uuid}/inventories",
        f"/resource_providers/{uuid}/usages",
        "/allocations",
        f"/allocations/{dice.one(CONSUMERS)}",
        "/usages",
        "/reshaper",
        "/traits",
        "/traits/CUSTOM_X/y",
        "/resource_classes",
        "/resource_classes/VCPU",
        "/allocation_candidates",
        "/resource_providers//usages",
        "//resource_providers",
    ]
    path = dice.one(paths)
    method = dice.one(["GET", "GET", "POST", "PUT", "PATCH", "HEAD", "OPTIONS"])
    if dice.chance(0.3):
        versions = [None, "1.40", "2.0", "0.9", "latest", "LATEST", "x", "1.2.3", "1.01", "1", ""]
        return Call(method, path, dice.one(versions))
    body = {} if method in ("POST", "PUT", "PATCH") and dice.chance(0.5) else None
    return Call(method, path, f"1.{dice.version()}", body)


#: How often each kind of call is made.
_KINDS: dict[Callable[[Dice], Call], int] = {
    queries.candidates: 24,
    queries.list_providers: 8,
    queries.list_traits: 3,
    queries.look: 12,
    queries.usages: 4,
    strange: 5,
    writes.add_inventory: 5,
    writes.claim: 16,
    writes.claim_many: 6,
    writes.create_provider: 8,
    writes.delete_inventory: 2,
    writes.delete_provider: 2,
    writes.release: 4,
    writes.reshape: 6,
    writes.update_provider: 7,
    writes.write_aggregates: 6,
    writes.write_class: 6,
    writes.write_inventories: 10,
    writes.write_inventory: 6,
    writes.write_provider_traits: 8,
    writes.write_trait: 5,
}


class Generator:
    """Calls for one episode, determined by ``seed``; with or without candidates."""

    def __init__(self, seed: str, *, candidates: bool = True) -> None:
        self._dice = Dice(seed)
        self._kinds = {kind: weight for kind, weight in _KINDS.items() if candidates or kind is not queries.candidates}
        self._first = [*writes.names(self._dice), *writes.providers(self._dice)]

    def next(self) -> list[Call]:
        """The next call, perhaps after calls that read the generations that it needs."""
        if self._first:
            return [self._first.pop(0)]
        call = self._dice.weighted(self._kinds)(self._dice)
        if call.body is not None:
            call = replace(call, body=self._maybe_spoilt(call.body))
        if self._dice.chance(0.02):
            call = replace(call, headers=self._odd_headers())
        return [*self._looks(call.body), call]

    def _maybe_spoilt(self, body: Any) -> Any:
        if self._dice.chance(0.01):
            return Raw(self._dice.one(["", "{", "null", "[]", "{}", '"x"', "1", '{"a": 1,}', "nonsense"]))
        return _spoilt(self._dice, body) if self._dice.chance(0.1) else body

    def _odd_headers(self) -> tuple[tuple[str, str], ...]:
        one = self._dice.one
        headers: tuple[tuple[str, str], ...] = one(
            [
                (_ADMIN, ("Accept", one(["text/html", "application/xml", "*/*", "text/plain, */*;q=0.1"]))),
                (_ADMIN, ("Accept", "application/json, text/html")),
                (_ADMIN, ("Content-Type", one(["text/plain", "application/json; charset=utf-8"]))),
                (_ADMIN, ("X-Roles", one(["reader", "member", "service", "Admin, reader", ""]))),
                (("X-Auth-Token", one(["user", "user:p1", "admin:p1", ""])),),
                (_ADMIN, ("OpenStack-System-Scope", "all")),
                (("X-Auth-Token", "user:p1"), ("X-Roles", "reader")),
            ]
        )
        return headers

    def _looks(self, body: Any) -> list[Call]:
        """Mostly, a GET for each generation in ``body``."""
        looks = []
        for generation in _generations(body):
            if self._dice.chance(0.8):
                if generation.kind == "provider":
                    path, version = f"/resource_providers/{generation.uuid}", self._dice.version()
                else:
                    path, version = f"/allocations/{generation.uuid}", self._dice.number(28, 39)
                looks.append(Call("GET", path, f"1.{version}"))
        return looks


def _spoilt(dice: Dice, body: Any) -> Any:
    """``body`` with one thing wrong, or just odd, somewhere in it."""
    body = copy.deepcopy(body)
    containers = [item for item in _containers(body) if item]
    if not containers:
        return dice.one(_ODD)
    container = dice.one(containers)
    key = dice.one(list(container) if isinstance(container, dict) else list(range(len(container))))
    match dice.number(0, 3):
        case 0:
            del container[key]
        case 1 if isinstance(container, dict):
            added = dice.one(["x", "", "generation", "uuid", "consumer_type", "mappings", "VCPU"])
            container[added] = copy.deepcopy(dice.one(_ODD))
        case 2 if isinstance(container, list):
            container.append(copy.deepcopy(container[key]))
        case _:
            container[key] = copy.deepcopy(dice.one(_ODD))
    return body


def _generations(body: Any) -> list[Generation]:
    match body:
        case Generation():
            return [body]
        case dict():
            return [found for value in body.values() for found in _generations(value)]
        case list():
            return [found for value in body for found in _generations(value)]
    return []


def _containers(body: Any) -> list[Any]:
    match body:
        case dict():
            return [body, *(found for value in body.values() for found in _containers(value))]
        case list():
            return [body, *(found for value in body for found in _containers(value))]
    return []
