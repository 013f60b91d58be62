"""A fleet in the service, and a request about it that is made at one door after the other, by HTTP."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

from tests.database.door_rules import (
    BY_FLAVOR,
    BY_QUERY,
    OF_SCHEDULER,
    Door,
    Hindrance,
    Machine,
    Request,
)
from tests.functional.compute.test_servers import add_image
from tests.functional.compute.world import ZEROS
from tests.functional.ui.pages import look
from tests.service import ADMINISTRATOR, LATEST, Service
from tests.worlds import uuid_of

CLAIMS, EXPLANATIONS, REQUESTS = (f"/scheduling/v1/{name}" for name in ("claims", "explanations", "requests"))
ALLOCATIONS, SERVERS = "/baremetal/v1/allocations", "/compute/v2.1/servers"
#: The administrator where roles are those of a project.
ADMIN = {"X-Auth-Token": "admin", "X-Roles": "admin,member,reader"}
CARD = "SRIOV_NET_VF"
WAIT = 600

_NO_VALID_HOST = "No valid host was found. "
_NO_WAITING = " Waiting is refused"


class When(StrEnum):
    """When a machine can be had."""

    NOW = "now"
    LATER = "later"
    NEVER = "never"
    REFUSED = "the request is refused"


@dataclass
class Answer:
    """What is said at a door; None of what is not said there. ``machines``: which can be had."""

    when: When | None = None
    machines: set[str] | None = None
    number: int | None = None
    reason: str | None = None
    unknown: set[str] | None = None


@dataclass
class Taken:
    """What is taken at a door until there is nothing left: the machine of each claim, and the claim that waits."""

    machines: dict[str, str] = field(default_factory=dict)
    waiting: str | None = None
    reason: str | None = None


class Fleet:
    """The machines, by the UUIDs of their nodes, and who asks for what. ``waits``: where one can wait, one does."""

    def __init__(self, service: Service, machines: list[Machine], request: Request, *, waits: bool) -> None:
        self.service, self.request, self.waits = service, request, waits
        self.machines = {_add(service, number, machine): machine for number, machine in enumerate(machines)}
        self._flavors = 0

    def ask(self, door: Door) -> Answer:
        """Ask at the door; what was taken is given back."""
        match door:
            case Door.CANDIDATES:
                return self._candidates()
            case Door.DRY_RUN:
                return self._dry_run()
            case Door.EXPLAINED_QUERY | Door.EXPLAINED_FLAVOR | Door.EXPLAINED_CLASS:
                return self._explanation(door)
            case Door.PAGE | Door.PAGE_OF_QUERY | Door.PAGE_OF_FLAVOR:
                return self._page(door)
        taken = self.take(door)
        for uuid in filter(None, (taken.waiting, *taken.machines)):
            self._call("DELETE", f"{self._path(door)}/{uuid}", headers=ADMINISTRATOR)
        return self.answer_of(taken)

    def answer_of(self, taken: Taken) -> Answer:
        """What is said by taking machines."""
        machines = set(taken.machines.values())
        assert len(machines) == len(taken.machines), "a machine was given twice"
        last = When.LATER if taken.waiting else When.NEVER if self.waits else None
        return Answer(When.NOW if machines else last, machines, reason=taken.reason)

    # -- how it is asked for -------------------------------------------------------------------------------------------

    def _call(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """The answer to a request, by default of those who ask."""
        headers = {"X-OpenStack-Ironic-API-Version": LATEST, "OpenStack-API-Version": "compute 2.100"}
        headers |= options.pop("headers", self._headers())
        call = getattr(self.service.http, method.lower() if body is None else f"{method.lower()}_json")
        return call(path, *(() if body is None else (body,)), headers=headers, **options)

    def _headers(self, administrator: Mapping[str, str] = ADMINISTRATOR) -> Mapping[str, str]:
        project = self.request.project
        return administrator if project is None else {"X-Auth-Token": f"anna:{project}", "X-Roles": "member,reader"}

    def _path(self, door: Door) -> str:
        return {Door.ALLOCATION: ALLOCATIONS, Door.SERVER: SERVERS}.get(door, CLAIMS)

    @property
    def _query(self) -> str:
        request, card = self.request, self.request.card
        resources = f"CUSTOM_{request.resource_class.upper()}:1" + (f",{CARD}:1" if request.together else "")
        pairs = [("resources", resources), *(("required", entry) for entry in request.traits.entries())]
        if request.aggregate is not None:
            pairs.append(("member_of", uuid_of(request.aggregate)))
        if card is not None and not request.together:
            pairs += [("resources1", f"{CARD}:1"), *(("required1", entry) for entry in card.entries())]
        return urlencode(pairs, safe=":,!")

    @property
    def _extra_specs(self) -> dict[str, str]:
        request, suffix = self.request, "" if self.request.together else "1"
        specs = {f"resources:CUSTOM_{request.resource_class.upper()}": "1", **ZEROS}
        specs |= {f"trait:{name}": "required" for name in request.traits.required}
        specs |= {f"trait:{name}": "forbidden" for name in request.traits.forbidden}
        if request.card is not None:
            specs[f"resources{suffix}:{CARD}"] = "1"
            specs |= {f"trait{suffix}:{name}": "required" for name in request.card.required}
            specs |= {f"trait{suffix}:{name}": "forbidden" for name in request.card.forbidden}
        return specs

    def _body(self, door: Door) -> dict[str, Any]:
        if door in BY_QUERY:
            return {"query": self._query}
        if door in BY_FLAVOR:
            return {"flavor": {"vcpus": 1, "ram": 1, "disk": 1, "extra_specs": self._extra_specs}}
        owner = {} if self.request.owner is None else {"owner": self.request.owner}
        return {"resource_class": self.request.resource_class, "traits": self.request.traits.entries(), **owner}

    def _flavor(self) -> str:
        self._flavors += 1
        name = f"f{self._flavors}"
        flavor = {"id": name, "name": name, "ram": 1, "vcpus": 1, "disk": 1}
        self.service.compute("POST", "/flavors", {"flavor": flavor}, headers=ADMIN)
        specs = {"extra_specs": self._extra_specs}
        self.service.compute("POST", f"/flavors/{name}/os-extra_specs", specs, headers=ADMIN)
        return name

    # -- doors where machines are taken --------------------------------------------------------------------------------

    def take(self, door: Door) -> Taken:
        """Ask for one machine after the other, until nothing is left."""
        match door:
            case Door.ALLOCATION:
                return self._take_by_allocations()
            case Door.SERVER:
                return self._take_by_servers()
        body = self._body(door) | ({"wait": WAIT} if self.waits else {})
        taken = Taken()
        while (answer := self._call("POST", CLAIMS, body, status="*")).status_int == 201:
            (machine,) = answer.json["allocations"].keys() & self.machines.keys()
            taken.machines[answer.json["uuid"]] = machine
        if answer.status_int == 202:
            taken.waiting, taken.reason = answer.json["uuid"], answer.json["reason"]
            return taken
        assert answer.status_int == 409, answer.text
        taken.reason = answer.json["error"]["message"].partition(_NO_WAITING)[0]
        return taken

    def _take_by_allocations(self) -> Taken:
        prefer = {"Prefer": f"return=representation, allocation-wait={WAIT if self.waits else 0}"}
        taken = Taken()
        while True:
            headers = {**self._headers(), **prefer}
            answer = self._call("POST", ALLOCATIONS, self._body(Door.ALLOCATION), headers=headers, status="*")
            if answer.status_int == 409:
                assert "conductors are working on them" in answer.text
                return taken
            made = answer.json
            match made["state"]:
                case "active":
                    taken.machines[made["uuid"]] = made["node_uuid"]
                case "allocating":
                    taken.waiting = made["uuid"]
                    taken.reason = self._reason_of_waiting(made["uuid"])
                    return taken
                case _:
                    taken.reason = made["last_error"].partition(": ")[2]
                    self._call("DELETE", f"{ALLOCATIONS}/{made['uuid']}", headers=ADMINISTRATOR)
                    return taken

    def _take_by_servers(self) -> Taken:
        server = {"name": "s", "flavorRef": self._flavor(), "imageRef": add_image(self.service), "networks": "none"}
        hints = {"os:scheduler_hints": {"wait": WAIT}} if self.waits else {}
        taken = Taken()
        while True:
            answer = self._call("POST", SERVERS, {"server": server, **hints}, headers=self._headers(ADMIN), status=202)
            uuid = answer.json["server"]["id"]
            shown = self._call("GET", f"{SERVERS}/{uuid}", headers=ADMIN).json["server"]
            host = shown["OS-EXT-SRV-ATTR:hypervisor_hostname"]
            if host is not None:
                taken.machines[uuid] = host
                continue
            if shown["status"] == "BUILD":
                taken.waiting = uuid
                taken.reason = self._reason_of_waiting(uuid).removeprefix(_NO_VALID_HOST)
            else:
                taken.reason = shown["fault"]["message"].removeprefix(_NO_VALID_HOST)
            return taken

    def _reason_of_waiting(self, uuid: str) -> str:
        shown = self._call("GET", CLAIMS, headers=ADMINISTRATOR).json["claims"]
        (reason,) = [each["reason"] for each in shown if each["uuid"] == uuid]
        return str(reason)

    def release(self, machine: str) -> None:
        """Take away what hinders the machine: a hold or a claim."""
        if self.machines[machine].hindrance is Hindrance.HOLD:
            self._call("DELETE", f"/scheduling/v1/nodes/{machine}/holds", headers=ADMINISTRATOR)
        else:
            self._call("DELETE", f"/placement/allocations/{uuid_of(f'consumer of {machine}')}", headers=ADMIN)

    def holds(self, consumer: str) -> set[str]:
        """The machines that a claim, an allocation or a server has."""
        allocations = self._call("GET", f"/placement/allocations/{consumer}", headers=ADMIN).json["allocations"]
        return allocations.keys() & self.machines.keys()

    # -- doors where machines are shown --------------------------------------------------------------------------------

    def _candidates(self) -> Answer:
        headers = {**ADMIN, "OpenStack-API-Version": "placement 1.39"}
        path = f"/placement/allocation_candidates?{self._query}&group_policy=none"
        answer = self._call("GET", path, headers=headers, status="*")
        if answer.status_int != 200:
            assert answer.status_int == 400
            return Answer(When.REFUSED)
        found = {uuid for each in answer.json["allocation_requests"] for uuid in each["allocations"]}
        return Answer(machines=found & self.machines.keys())

    def _dry_run(self) -> Answer:
        found = self._call("POST", REQUESTS, self._body(Door.DRY_RUN)).json
        reason = found["reason"].removeprefix(_NO_VALID_HOST) if "reason" in found else None
        if "count" in found:
            return Answer(number=found["count"], reason=reason)
        return Answer(machines={each["node"] for each in found["candidates"]}, reason=reason)

    def _explanation(self, door: Door) -> Answer:
        body = self._body(door)
        found = self._call("POST", EXPLANATIONS, body).json
        when = {"fits": When.NOW, "busy": When.LATER, "unserved": When.LATER}.get(found["verdict"], When.NEVER)
        unknown = {each["name"] for each in found["unknown"]}
        answer = Answer(when, None, found["fitting"], found["summary"], unknown)
        if self.request.project is None:
            # Each machine, asked about by itself.
            paths = {uuid: f"{EXPLANATIONS}/nodes/{uuid}" for uuid in self.machines}
            verdicts = {uuid: self._call("POST", path, body).json["verdict"] for uuid, path in paths.items()}
            answer.machines = {uuid for uuid, verdict in verdicts.items() if verdict == "fits"}
        return answer

    def _page(self, door: Door) -> Answer:
        traits = self.request.traits
        parameters = {
            "class": self.request.resource_class,
            **{name: ",".join(sorted(getattr(traits, name))) for name in ("required", "forbidden")},
            "any": ",".join(sorted(traits.one_of)),
        }
        if door is Door.PAGE_OF_QUERY:
            parameters = {"query": self._query}
        elif door is Door.PAGE_OF_FLAVOR:
            parameters = {"flavor": self._flavor()}
        page = look(self.service, f"/find?{urlencode(parameters)}", **self._headers())
        (number,) = [found[1] for _, text in page.texts if (found := re.fullmatch(r"(\w+) machines? fits?", text))]
        later = When.LATER if "Some would if" in page.text else When.NEVER
        answer = Answer(later, None, 0) if number == "No" else Answer(When.NOW, None, int(number))
        if self.request.project is None:
            names = {f"n{place}": uuid for place, uuid in enumerate(self.machines)}
            answer.machines = {names[row[0]] for row in page.tables.get("Machines that fit", [])[1:]}
        return answer


def _add(service: Service, number: int, machine: Machine) -> str:
    name, traits = f"n{number}", tuple(sorted(machine.traits))
    whose = {"owner": machine.owner, "lessee": machine.lessee}
    uuid = service.add_node(name, resource_class=machine.resource_class, traits=traits, **whose)
    provider = f"/resource_providers/{uuid}"
    for place, card in enumerate(machine.cards):
        _add_card(service, uuid, f"{name}-{place}", sorted(card))
    if machine.of_scheduler:
        shown = service.placement("GET", f"{provider}/traits").json
        service.placement("PUT", f"{provider}/traits", shown | {"traits": [*shown["traits"], OF_SCHEDULER]})
    if machine.aggregates:
        shown = service.placement("GET", f"{provider}/aggregates").json
        uuids = [uuid_of(name) for name in sorted(machine.aggregates)]
        service.placement("PUT", f"{provider}/aggregates", shown | {"aggregates": uuids})
    if not machine.served:
        service.set_columns(uuid, conductor_group="far")
    match machine.hindrance:
        case Hindrance.HOLD:
            service.http.post_json(
                f"/scheduling/v1/nodes/{uuid}/holds", {"type": "operator_hold"}, headers=ADMINISTRATOR
            )
        case Hindrance.CLAIM:
            service.claim(uuid_of(f"consumer of {uuid}"), uuid, f"CUSTOM_{machine.resource_class.upper()}")
        case Hindrance.INSTANCE:
            service.set_columns(uuid, instance_uuid=uuid_of(f"instance of {uuid}"))
        case Hindrance.STATE:
            service.set_columns(uuid, provision_state="manageable")
        case Hindrance.POWER:
            service.set_columns(uuid, power_state=None)
        case Hindrance.LOCK:
            service.set_columns(uuid, reservation="c1")
    return uuid


def _add_card(service: Service, parent: str, name: str, traits: list[str]) -> None:
    body = {"name": name, "parent_provider_uuid": parent}
    path = f"/resource_providers/{service.placement('POST', '/resource_providers', body).json['uuid']}"
    stock = {CARD: {"total": 1}}
    service.placement("PUT", f"{path}/inventories", {"inventories": stock, "resource_provider_generation": 0})
    if traits:
        service.placement("PUT", f"{path}/traits", {"traits": traits, "resource_provider_generation": 1})
