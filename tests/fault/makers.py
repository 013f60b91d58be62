"""Clients that make nodes, images, allocations of both kinds and servers, and delete whatever any of them has made."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import requests

from tests.fault.caller import Answer, Caller
from tests.fault.claimants import holding
from tests.fault.fleet import GROUPS
from tests.fault.lifetimes import (
    ALLOCATION,
    CLAIM,
    DELETE,
    IMAGE,
    LOOK,
    MAINTAIN,
    MAKE,
    NODE,
    SERVER,
    Key,
    Left,
    Lifetimes,
    Line,
)
from tests.fault.machines import IMAGE as IMAGE_FIELDS
from tests.fault.machines import RESOURCE_CLASS
from tests.processes import Client

#: Where each kind of thing is, by API.
_PLACES = {
    NODE: ("baremetal", "/nodes"),
    IMAGE: ("image", "/images"),
    ALLOCATION: ("baremetal", "/allocations"),
    CLAIM: ("placement", "/allocations"),
    SERVER: ("compute", "/servers"),
}
#: How many of each kind should exist at a time. There are about as many holders of nodes as nodes.
_WANTED = {NODE: 10, IMAGE: 4, ALLOCATION: 3, CLAIM: 5, SERVER: 3}
#: The share of deletions of nodes that are made in maintenance, which a claim does not prevent.
_FORCED = 0.1
_RESOURCES = {f"CUSTOM_{RESOURCE_CLASS.upper()}": 1}


class Yard:
    """The things that all clients made, or may have made, and do not know to be gone: UUIDs by kind."""

    def __init__(self, flavor: Mapping[str, str]) -> None:
        #: What a request for a server says, except its image.
        self.flavor = flavor
        self.things: dict[str, set[str]] = {kind: set() for kind in _PLACES}


@dataclass
class Maker(Caller):
    """One client that makes and deletes. ``lines`` are its requests that matter, with what it was told."""

    yard: Yard
    lines: list[Line] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        #: Its allocations and servers of which it does not know yet what became of them.
        self._pending: list[Line] = []

    def act(self) -> None:
        """Make a thing, see what became of one, or delete one."""
        kind = self._dice.choice([*_PLACES])
        if self._pending and self._dice.random() < 0.3:
            self._look(self._dice.choice(self._pending))
        elif self._dice.random() * 2 * _WANTED[kind] > len(self.yard.things[kind]):
            self._make(kind, str(uuid4()))
        elif uuid := self._any(kind):
            self._delete(kind, uuid)

    def _make(self, kind: str, uuid: str) -> None:
        """A thing of which all parts have its UUID for a name, to see if one of them is left."""
        node = image = ""
        version: tuple[str, ...] = ()
        if kind == NODE:
            # Below 1.11 nodes are created available.
            body: dict[str, Any] = {"uuid": uuid, "driver": "fake-hardware"}
            version = ("1.10",)
        elif kind == IMAGE:
            body = {**IMAGE_FIELDS, "id": uuid, "name": uuid, "serial": uuid, "tags": [uuid]}
        elif kind == ALLOCATION:
            body = {"uuid": uuid, "resource_class": RESOURCE_CLASS}
        elif kind == CLAIM:
            node = self._any(NODE)
            body = holding({node: _RESOURCES}, None)
        else:
            image = self._any(IMAGE)
            body = {"server": {"name": uuid, **self.yard.flavor, "imageRef": image}}
        method, path = ("PUT", f"/allocations/{uuid}") if kind == CLAIM else ("POST", _PLACES[kind][1])
        answer = self._ask(kind, MAKE, method, path, body, *version)
        if kind == SERVER:  # its UUID is the service's to choose, and not known if there was no answer
            uuid = answer.body["server"]["id"] if answer.is_done else uuid
        self._note(answer, kind, uuid, MAKE, node, image)
        if answer.is_done or (answer.is_unknown and kind != SERVER):
            self.yard.things[kind].add(uuid)
        if answer.is_done and kind in (ALLOCATION, SERVER):
            self._pending.append(self.lines[-1])
            self._look(self.lines[-1])
        if answer.is_done and kind == NODE:
            values = {"resource_class": RESOURCE_CLASS, "conductor_group": self._dice.choice([*GROUPS.values()])}
            patch = [{"op": "add", "path": f"/{name}", "value": value} for name, value in values.items()]
            if self._ask(kind, "patch", "PATCH", f"/nodes/{uuid}", patch).is_done:
                self._ask(kind, "switch on", "PUT", f"/nodes/{uuid}/states/power", {"target": "power on"})

    def _look(self, made: Line) -> None:
        """See which node an allocation or a server has got, if that is decided."""
        answer = self._ask(made.kind, LOOK, "GET", f"{_PLACES[made.kind][1]}/{made.uuid}")
        node, is_decided = None, answer.status == 404
        if answer.is_done and made.kind == ALLOCATION:
            node, is_decided = answer.body["node_uuid"], answer.body["state"] in ("active", "error")
        elif answer.is_done:
            shown = answer.body["server"]
            is_decided = shown["status"] in ("ACTIVE", "ERROR")
            node = shown["OS-EXT-SRV-ATTR:hypervisor_hostname"] if shown["status"] == "ACTIVE" else None
            if shown["image"]["id"] != made.image:  # it may be gone, but its server remembers it
                self.failures.append(f"server {made.uuid} was booted from {made.image}, and is from {shown['image']}")
        if is_decided:
            self._pending.remove(made)
            self._note(answer, made.kind, made.uuid, LOOK, node or "")

    def _delete(self, kind: str, uuid: str) -> None:
        path = f"{_PLACES[kind][1]}/{uuid}"
        if kind == NODE and self._dice.random() < _FORCED:
            self._note(self._ask(kind, MAINTAIN, "PUT", f"{path}/maintenance"), kind, uuid, MAINTAIN)
        answer = self._ask(kind, DELETE, "DELETE", path)
        self._note(answer, kind, uuid, DELETE)
        if answer.is_done or answer.status == 404:
            self.yard.things[kind].discard(uuid)

    def _ask(self, kind: str, act: str, *arguments: Any) -> Answer:
        call: Callable[..., requests.Response] = getattr(self._client, _PLACES[kind][0])
        return self._call(f"{act} {kind}", call, *arguments)

    def _note(self, answer: Answer, kind: str, uuid: str, act: str, node: str = "", image: str = "") -> None:
        self.lines.append(Line(kind, uuid, act, answer.status, answer.sent, answer.answered, node, image))

    def _any(self, kind: str) -> str:
        """Return one of the existing things of this kind; a random UUID if there is none."""
        return self._dice.choice([*self.yard.things[kind]] or [str(uuid4())])


def left(client: Client, lifetimes: Lifetimes) -> Left:
    """All that is there, in all places that know of it: read when nothing changes any more."""
    found: dict[Key, dict[str, str | None]] = defaultdict(dict)
    nodes = {node["uuid"]: node for node in _listed(client.baremetal, "nodes", "?limit=1000&fields=uuid,instance_uuid")}
    providers = {each["uuid"] for each in _listed(client.placement, "resource_providers")}
    claims: dict[str, str] = {}
    for node in nodes.keys() | providers:
        found[NODE, node] = {"node": node if node in nodes else None, "provider": node if node in providers else None}
    for provider in providers:
        held = client.placement("GET", f"/resource_providers/{provider}/allocations").json()["allocations"]
        claims |= dict.fromkeys(held, provider)
    for image in _listed(client.image, "images", "?limit=1000"):
        tag = next(iter(image["tags"]), None)
        found[IMAGE, image["id"]] = {"id": image["id"], "property": image.get("serial"), "tag": tag}
    # What holds a node, of which an allocation in error and a server without a node hold "".
    holders = {(ALLOCATION, each["uuid"]): each["node_uuid"] or "" for each in _listed(client.baremetal, "allocations")}
    for server in _listed(client.compute, "servers", "/detail"):
        holders[SERVER, server["id"]] = server["OS-EXT-SRV-ATTR:hypervisor_hostname"] or ""
    instances = {node["instance_uuid"]: uuid for uuid, node in nodes.items() if node["instance_uuid"]}
    for key in {*holders, *((lifetimes.kind_of(uuid), uuid) for uuid in (*claims, *instances))}:
        nothing = "" if key in holders else None
        found[key]["claim"] = claims.get(key[1], nothing)
        if key[0] != CLAIM:
            found[key] |= {"itself": holders.get(key), "instance of": instances.get(key[1], nothing)}
    return found


def _listed(call: Callable[..., requests.Response], name: str, rest: str = "") -> list[dict[str, Any]]:
    answer = call("GET", f"/{name}{rest}")
    assert answer.status_code == 200, answer.text
    things: list[dict[str, Any]] = answer.json()[name]
    return things
