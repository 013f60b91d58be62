"""Random calls, mostly sensible: few names, so that calls meet what earlier calls made."""

import copy
import random
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from tests.conformance.differential.calls import Call, Generation, Raw

PROVIDERS = [f"{n:08x}-aaaa-4aaa-8aaa-00000000000{n}" for n in range(1, 9)]
CONSUMERS = [f"{n:08x}-cccc-4ccc-8ccc-00000000000{n}" for n in range(1, 7)]
AGGREGATES = [f"{n:08x}-eeee-4eee-8eee-00000000000{n}" for n in range(1, 5)]
CLASSES = ["VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_A", "CUSTOM_B"]
TRAITS = ["HW_CPU_X86_VMX", "STORAGE_DISK_SSD", "MISC_SHARES_VIA_AGGREGATE", "CUSTOM_X", "CUSTOM_Y", "CUSTOM_Z"]
PROJECTS = ["p1", "p2"]
USERS = ["u1", "u2"]
TYPES = ["INSTANCE", "MIGRATION"]
LATEST = 39

_ODD = (None, True, 0, -1, 1, 3.0, 1.5, 2**31 - 1, 2**31, "", "x", "CUSTOM_A", "é", "x" * 256, [], {}, [1], {"x": 1})
_ADMIN = ("X-Auth-Token", "admin")


class Generator:
    """Calls for one episode, determined by ``seed``."""

    def __init__(self, seed: str, *, candidates: bool = True) -> None:
        self._random = random.Random(seed)
        self._kinds: dict[Callable[[], list[Call]], int] = {
            self._create_provider: 10,
            self._update_provider: 7,
            self._delete_provider: 2,
            self._list_providers: 8,
            self._look: 12,
            self._write_inventories: 12,
            self._write_inventory: 6,
            self._add_inventory: 5,
            self._delete_inventory: 2,
            self._write_aggregates: 6,
            self._write_provider_traits: 8,
            self._traits: 6,
            self._list_traits: 3,
            self._classes: 7,
            self._claim: 16,
            self._claim_many: 6,
            self._release: 3,
            self._reshape: 6,
            self._usages: 4,
            self._strange: 5,
        }
        if candidates:
            self._kinds[self._candidates] = 16
        self._first = [*self._make_names(), *self._make_providers()]

    def next(self) -> list[Call]:
        """The next call, perhaps after those that look at the generations that it needs."""
        if self._first:
            return [self._first.pop(0)]
        (kind,) = self._random.choices(list(self._kinds), list(self._kinds.values()))
        return kind()

    def _make_names(self) -> list[Call]:
        """Most of the custom names."""
        names = [f"/resource_classes/{name}" for name in CLASSES if name.startswith("CUSTOM")]
        names += [f"/traits/{name}" for name in TRAITS if name.startswith("CUSTOM")]
        return [Call("PUT", name, "1.39") for name in names if self._chance(0.85)]

    def _make_providers(self) -> list[Call]:
        """Most of the providers, in a few trees, with inventories, traits and aggregates."""
        calls = []
        made: list[str] = []
        for number, uuid in enumerate(PROVIDERS):
            if self._chance(0.15):
                continue
            path = f"/resource_providers/{uuid}"
            parent = self._one(made) if made and self._chance(0.6) else None
            body = {"name": f"name{number}", "uuid": uuid, "parent_provider_uuid": parent}
            stocks = {name: self._inventory() for name in self._some(CLASSES, 1, 4)}
            traits = [name for name in self._some(TRAITS, 0, 3) if name != TRAITS[2] or self._chance(0.5)]
            generation = {"resource_provider_generation": Generation("provider", uuid)}
            calls += [
                Call("POST", "/resource_providers", "1.39", body),
                Call("PUT", f"{path}/inventories", "1.39", generation | {"inventories": stocks}),
                Call("GET", path, "1.39"),
                Call("PUT", f"{path}/traits", "1.39", generation | {"traits": traits}),
                Call("PUT", f"{path}/aggregates", "1.18", self._some(AGGREGATES, 0, 2)),
            ]
            made.append(uuid)
        return calls

    # -- dice

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _one(self, values: Any) -> Any:
        return self._random.choice(values)

    def _some(self, values: Any, least: int = 0, most: int = 3) -> list[Any]:
        return self._random.sample(values, self._random.randint(least, min(most, len(values))))

    def _version(self, since: int = 0) -> int:
        """Mostly one that has the thing, often the latest."""
        if self._chance(0.4):
            return LATEST
        return self._random.randint(0 if self._chance(0.04) else since, LATEST)

    def _provider(self) -> str:
        if self._chance(0.03):
            return str(self._one(["nothing", PROVIDERS[0].upper(), AGGREGATES[0], PROVIDERS[0].replace("-", "")]))
        return str(self._one(PROVIDERS))

    def _class(self) -> str:
        return str(self._one([*CLASSES, *CLASSES, "PCI_DEVICE", "CUSTOM_NO", "no"] if self._chance(0.2) else CLASSES))

    def _trait(self) -> str:
        return str(self._one([*TRAITS, "CUSTOM_NO", "HW_CPU_X86_SVM"]) if self._chance(0.15) else self._one(TRAITS))

    def _generation(self, kind: str, uuid: str) -> Generation:
        return Generation(kind, uuid, self._one([-1, 1, 7]) if self._chance(0.06) else 0)

    # -- calls

    def _call(self, method: str, path: str, version: int, body: Any = None, since: int = 0) -> list[Call]:
        """The call, now and then spoilt, after a look at the generations that it needs."""
        headers: tuple[tuple[str, str], ...] = (_ADMIN,)
        if body is not None and not isinstance(body, Raw):
            if self._chance(0.1):
                body = self._spoil(body)
            if self._chance(0.01):
                body = Raw(self._one(["", "{", "null", "[]", "{}", '"x"', "1", '{"a": 1,}', "nonsense"]))
        if self._chance(0.02):
            headers = self._one(
                [
                    (_ADMIN, ("Accept", self._one(["text/html", "application/xml", "*/*", "text/plain, */*;q=0.1"]))),
                    (_ADMIN, ("Accept", "application/json, text/html")),
                    (_ADMIN, ("Content-Type", self._one(["text/plain", "application/json; charset=utf-8"]))),
                    (_ADMIN, ("X-Roles", self._one(["reader", "member", "service", "Admin, reader", ""]))),
                    (("X-Auth-Token", self._one(["user", "user:p1", "admin:p1", ""])),),
                    (_ADMIN, ("OpenStack-System-Scope", "all")),
                    (("X-Auth-Token", "user:p1"), ("X-Roles", "reader")),
                ]
            )
        call = Call(method, path, f"1.{version}", body, headers)
        return [*self._looks(body), call]

    def _looks(self, body: Any) -> list[Call]:
        """Mostly, a GET for each generation in ``body``."""
        looks = []
        for generation in _generations(body):
            if self._chance(0.8):
                if generation.kind == "provider":
                    looks.append(Call("GET", f"/resource_providers/{generation.uuid}", f"1.{self._version()}"))
                else:
                    looks.append(Call("GET", f"/allocations/{generation.uuid}", f"1.{self._random.randint(28, 39)}"))
        return looks

    def _spoil(self, body: Any) -> Any:
        """``body`` with one thing wrong, or just odd, somewhere in it."""
        body = copy.deepcopy(body)
        containers = [item for item in _containers(body) if item]
        if not containers:
            return self._one(_ODD)
        container = self._one(containers)
        keys = list(container) if isinstance(container, dict) else list(range(len(container)))
        key = self._one(keys)
        match self._random.randint(0, 3):
            case 0:
                del container[key]
            case 1 if isinstance(container, dict):
                container[self._one(["x", "", "generation", "uuid", "consumer_type", "mappings", "VCPU"])] = self._one(
                    _ODD
                )
            case 2 if isinstance(container, list):
                container.append(copy.deepcopy(container[key]))
            case _:
                container[key] = copy.deepcopy(self._one(_ODD))
        return body

    def _create_provider(self) -> list[Call]:
        uuid = self._provider()
        version = self._version()
        body: dict[str, Any] = {"name": f"name{PROVIDERS.index(uuid) if uuid in PROVIDERS else 'x'}", "uuid": uuid}
        if self._chance(0.1):
            body["name"] = self._one(["name0", "name1", "é", "", "x" * 200, "x" * 201])
        if self._chance(0.04):
            body["uuid"] = "{" + uuid.upper() + "}"
        if self._chance(0.03):
            body.pop("uuid")
        if (version >= 14 and self._chance(0.5)) or self._chance(0.02):
            body["parent_provider_uuid"] = self._one([self._provider(), self._provider(), None])
        return self._call("POST", "/resource_providers", version, body)

    def _update_provider(self) -> list[Call]:
        uuid = self._provider()
        version = self._version()
        name = f"name{PROVIDERS.index(uuid)}" if uuid in PROVIDERS else "x"
        body: dict[str, Any] = {"name": self._one(["name0", "new", "", "é"]) if self._chance(0.2) else name}
        if (version >= 14 and self._chance(0.7)) or self._chance(0.02):
            body["parent_provider_uuid"] = None if self._chance(0.2) else self._provider()
        return self._call("PUT", f"/resource_providers/{uuid}", version, body)

    def _delete_provider(self) -> list[Call]:
        return self._call("DELETE", f"/resource_providers/{self._provider()}", self._version())

    def _look(self) -> list[Call]:
        uuid = self._provider()
        path = self._one(
            [
                f"/resource_providers/{uuid}",
                f"/resource_providers/{uuid}/inventories",
                f"/resource_providers/{uuid}/inventories/{self._class()}",
                f"/resource_providers/{uuid}/usages",
                f"/resource_providers/{uuid}/aggregates",
                f"/resource_providers/{uuid}/traits",
                f"/resource_providers/{uuid}/allocations",
                f"/allocations/{self._one(CONSUMERS)}",
                f"/allocations/{self._one(CONSUMERS)}",
            ]
        )
        return self._call("GET", path, self._version(1))

    def _list_providers(self) -> list[Call]:
        version = self._version()
        parts = []
        if self._chance(0.15):
            parts.append(f"name={self._one(['name0', 'name1', 'none', ''])}")
        if self._chance(0.15):
            parts.append(f"uuid={self._provider()}")
        if self._chance(0.4 if version >= 3 else 0.03):
            parts.append(self._member_of("member_of", version))
        if self._chance(0.4 if version >= 4 else 0.03):
            parts.append(f"resources={self._resources()}")
        if self._chance(0.3 if version >= 14 else 0.03):
            parts.append(f"in_tree={self._provider()}")
        if self._chance(0.4 if version >= 18 else 0.03):
            parts.append(self._required("required", version))
        return self._query("/resource_providers", parts, version)

    def _query(self, path: str, parts: list[str], version: int) -> list[Call]:
        if self._chance(0.03):
            parts.append(self._one(["unknown=1", "name=%FF", "limit=0", "resources=", "required=", *parts]))
        self._random.shuffle(parts)
        return self._call("GET", f"{path}?{'&'.join(parts)}" if parts else path, version)

    def _resources(self) -> str:
        if self._chance(0.05):
            return str(
                self._one(["", "VCPU", "VCPU:0", "VCPU:-1", "VCPU:x", "VCPU:1:1", "VCPU:1,", "NO:1", "VCPU:%201"])
            )
        return ",".join(f"{name}:{self._amount()}" for name in self._class_names(1, 1, 2))

    def _class_names(self, *numbers: int) -> list[str]:
        """Some names, without repetitions, as often as one of ``numbers`` says."""
        return list(dict.fromkeys(self._class() for _ in range(self._one(numbers))))

    def _amount(self) -> int:
        return int(self._one([1, 1, 1, 2, 2, 3, 4, 5, 8, 10, 16, 32]))

    def _member_of(self, name: str, version: int) -> str:
        wanted = self._some(AGGREGATES, 1, 2)
        if self._chance(0.05):
            wanted = [self._one(["x", "", AGGREGATES[0].upper()])]
        sign = "!" if self._chance(0.3 if version >= 32 else 0.03) else ""
        value = f"in:{','.join(wanted)}" if len(wanted) > 1 or self._chance(0.3) else wanted[0]
        if self._chance(0.03):
            value = ",".join(AGGREGATES[:2])
        text = f"{name}={sign}{value}"
        return f"{text}&{name}={self._one(AGGREGATES)}" if self._chance(0.2 if version >= 24 else 0.02) else text

    def _required(self, name: str, version: int) -> str:
        wanted = [
            ("!" if self._chance(0.3 if version >= 22 else 0.03) else "") + self._trait()
            for _ in range(self._one([1, 1, 2]))
        ]
        value = ",".join(wanted)
        if self._chance(0.3 if version >= 39 else 0.02):
            value = "in:" + ",".join(self._some(TRAITS, 1, 3))
        if self._chance(0.03):
            value = self._one(["", "!", "in:", "in:!CUSTOM_X", "CUSTOM_X,", "!!CUSTOM_X", "%20CUSTOM_X", "a,,b"])
        text = f"{name}={value}"
        return f"{text}&{name}={self._trait()}" if self._chance(0.1) else text

    def _inventory(self) -> dict[str, Any]:
        body: dict[str, Any] = {"total": self._one([1, 2, 4, 8, 10, 16, 32])}
        for name, values, chance in (
            ("reserved", [0, 1, 2, 4, 10], 0.25),
            ("min_unit", [1, 2, 3], 0.15),
            ("max_unit", [1, 2, 5, 8, 2**31 - 1], 0.3),
            ("step_size", [1, 2, 3], 0.15),
            ("allocation_ratio", [1.0, 1, 2.0, 1.5, 16.0, 0.5, 0.1, 0, -1.0], 0.25),
        ):
            if self._chance(chance):
                body[name] = self._one(values)
        return body

    def _inventories(self) -> dict[str, Any]:
        return {self._class(): self._inventory() for _ in range(self._one([0, 1, 2, 2, 3]))}

    def _write_inventories(self) -> list[Call]:
        uuid = self._provider()
        body = {"resource_provider_generation": self._generation("provider", uuid), "inventories": self._inventories()}
        return self._call("PUT", f"/resource_providers/{uuid}/inventories", self._version(), body)

    def _write_inventory(self) -> list[Call]:
        uuid = self._provider()
        body = self._inventory() | {"resource_provider_generation": self._generation("provider", uuid)}
        return self._call("PUT", f"/resource_providers/{uuid}/inventories/{self._class()}", self._version(), body)

    def _add_inventory(self) -> list[Call]:
        body = self._inventory() | {"resource_class": self._class()}
        return self._call("POST", f"/resource_providers/{self._provider()}/inventories", self._version(), body)

    def _delete_inventory(self) -> list[Call]:
        path = f"/resource_providers/{self._provider()}/inventories"
        return self._call("DELETE", path if self._chance(0.3) else f"{path}/{self._class()}", self._version(5))

    def _write_aggregates(self) -> list[Call]:
        uuid = self._provider()
        version = self._version(1)
        body: Any = self._some(AGGREGATES)
        if self._chance(0.03):
            body.append(self._one([AGGREGATES[0].upper(), AGGREGATES[1].replace("-", "")]))
        if version >= 19:
            body = {"aggregates": body, "resource_provider_generation": self._generation("provider", uuid)}
        return self._call("PUT", f"/resource_providers/{uuid}/aggregates", version, body)

    def _write_provider_traits(self) -> list[Call]:
        uuid = self._provider()
        path = f"/resource_providers/{uuid}/traits"
        if self._chance(0.1):
            return self._call("DELETE", path, self._version(6))
        traits = [self._trait() for _ in range(self._random.randint(0, 3))]
        body = {"traits": traits, "resource_provider_generation": self._generation("provider", uuid)}
        return self._call("PUT", path, self._version(6), body)

    def _traits(self) -> list[Call]:
        name = self._one(["CUSTOM_bad", "x", "CUSTOM_", "CUSTOM_" + "X" * 250]) if self._chance(0.1) else self._trait()
        method = self._one(["GET", "PUT", "PUT", "PUT", "PUT", "DELETE"])
        return self._call(method, f"/traits/{quote(name)}", self._version(6))

    def _list_traits(self) -> list[Call]:
        parts = []
        if self._chance(0.6):
            names = ["in:CUSTOM_X,CUSTOM_Y,NO", "startswith:CUSTOM_", "startswith:HW_CPU_X", "in:", "x", "other:x", ""]
            parts.append(f"name={self._one(names)}")
        if self._chance(0.6):
            parts.append(f"associated={self._one(['true', 'false', 'True', 'x', ''])}")
        return self._query("/traits", parts, self._version(6))

    def _classes(self) -> list[Call]:
        name = self._one(["CUSTOM_bad", "x", "CUSTOM_" + "X" * 250]) if self._chance(0.1) else self._class()
        version = self._random.randint(2, 6) if self._chance(0.3) else self._version(2)
        match self._one(["GET", "GET", "PUT", "PUT", "PUT", "PUT", "DELETE", "POST", "LIST"]):
            case "LIST":
                return self._call("GET", "/resource_classes", version)
            case "POST":
                return self._call("POST", "/resource_classes", version, {"name": name})
            case "PUT":
                body = {"name": self._class()} if version < 7 or self._chance(0.02) else None
                return self._call("PUT", f"/resource_classes/{name}", version, body)
            case method:
                return self._call(method, f"/resource_classes/{name}", version)

    def _holding(self, version: int) -> Any:
        """Allocations in the form of the version."""
        providers = self._some(PROVIDERS, 1, self._one([1, 1, 2]))
        if self._chance(0.02):
            providers.append(self._one([AGGREGATES[0], PROVIDERS[0].upper()]))
        held: dict[str, dict[str, Any]] = {
            uuid: {"resources": {self._class(): self._amount() for _ in range(self._one([1, 1, 2]))}}
            for uuid in providers
        }
        if version < 12:
            return [{"resource_provider": {"uuid": uuid}, **item} for uuid, item in held.items()]
        if self._chance(0.03):
            held[providers[0]]["generation"] = self._one([0, 3])
        return held

    def _consumer(self, uuid: str, version: int, *, may_be_empty: bool) -> dict[str, Any]:
        body: dict[str, Any] = {"allocations": self._holding(version)}
        if may_be_empty and self._chance(0.12):
            body["allocations"] = {}
        if version >= 8:
            body |= {"project_id": self._one(PROJECTS), "user_id": self._one(USERS)}
        if version >= 28:
            body["consumer_generation"] = self._generation("consumer", uuid)
        if version >= 34 and self._chance(0.1):
            body["mappings"] = {self._one(["", "1", "_x"]): [PROVIDERS[0]]}
        if version >= 38:
            body["consumer_type"] = (
                self._one(TYPES) if not self._chance(0.03) else self._one(["unknown", "", "x", "A1"])
            )
        return body

    def _claim(self) -> list[Call]:
        uuid = self._one(CONSUMERS)
        version = self._version()
        shown = uuid
        if self._chance(0.03):
            shown = self._one([uuid.upper(), uuid.replace("-", ""), "nothing", "{" + uuid + "}"])
        body = self._consumer(uuid, version, may_be_empty=version >= 28 or self._chance(0.02))
        return self._call("PUT", f"/allocations/{quote(shown)}", version, body)

    def _consumers(self, version: int, least: int) -> dict[str, Any]:
        return {uuid: self._consumer(uuid, version, may_be_empty=True) for uuid in self._some(CONSUMERS, least, 3)}

    def _claim_many(self) -> list[Call]:
        version = self._version(13)
        return self._call("POST", "/allocations", version, self._consumers(max(version, 12), 1))

    def _release(self) -> list[Call]:
        return self._call("DELETE", f"/allocations/{self._one([*CONSUMERS, 'nothing'])}", self._version())

    def _reshape(self) -> list[Call]:
        version = self._version(30)
        inventories = {
            uuid: {
                "resource_provider_generation": self._generation("provider", uuid),
                "inventories": self._inventories(),
            }
            for uuid in self._some(PROVIDERS, 1, 2)
        }
        body = {"inventories": inventories, "allocations": self._consumers(max(version, 28), 0)}
        return self._call("POST", "/reshaper", version, body)

    def _usages(self) -> list[Call]:
        version = self._version(9)
        parts = [] if self._chance(0.05) else [f"project_id={self._one([*PROJECTS, *PROJECTS, 'none', ''])}"]
        if self._chance(0.4):
            parts.append(f"user_id={self._one([*USERS, *USERS, 'none', ''])}")
        if self._chance(0.5 if version >= 38 else 0.03):
            parts.append(f"consumer_type={self._one([*TYPES, 'all', 'unknown', 'x', 'allx', 'NONE', ''])}")
        return self._query("/usages", parts, version)

    def _strange(self) -> list[Call]:
        """Unknown paths and methods, versions that there are not."""
        uuid = self._provider()
        paths = [
            "/",
            "/nothing",
            "/resource_providers/",
            f"/resource_providers/{uuid}/nothing",
            f"/resource_providers/{uuid}/inventories",
            f"/resource_providers/{uuid}/usages",
            "/allocations",
            f"/allocations/{self._one(CONSUMERS)}",
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
        path = self._one(paths)
        method = self._one(["GET", "GET", "POST", "PUT", "PATCH", "HEAD", "OPTIONS"])
        if self._chance(0.3):
            version = self._one([None, "1.40", "2.0", "0.9", "latest", "LATEST", "x", "1.2.3", "1.01", "1", ""])
            return [Call(method, path, version)]
        body = {} if method in ("POST", "PUT", "PATCH") and self._chance(0.5) else None
        return self._call(method, path, self._version(), body)

    def _candidates(self) -> list[Call]:
        version = self._version(10)
        parts = []
        suffixes = [""] if version < 25 or self._chance(0.5) else self._some(["", "1", "2"], 1, 3)
        if version >= 33:
            suffixes = [f"_{suffix}" if suffix and self._chance(0.5) else suffix for suffix in suffixes]
        for suffix in suffixes:
            if not self._chance(0.1 if version >= 36 and suffix else 0.02):
                parts.append(f"resources{suffix}={self._resources()}")
            if self._chance(0.35 if version >= 17 else 0.02):
                parts.append(self._required(f"required{suffix}", version))
            if self._chance(0.25 if version >= 21 else 0.02):
                parts.append(self._member_of(f"member_of{suffix}", version))
            if self._chance(0.1 if version >= 31 else 0.02):
                parts.append(f"in_tree{suffix}={self._provider()}")
        if self._chance(0.15 if version >= 16 else 0.02):
            parts.append(f"limit={self._one([1, 2, 3, 100, 0, 'x'])}")
        if len(suffixes) > 1 and not self._chance(0.05):
            parts.append(f"group_policy={self._one(['none', 'none', 'isolate', 'isolate', 'bogus'])}")
        if self._chance(0.1 if version >= 35 else 0.01):
            parts.append(f"root_required={self._one(['', '!'])}{self._trait()}")
        named = [suffix for suffix in suffixes if suffix]
        if named and self._chance(0.3 if version >= 36 else 0.02):
            parts.append(f"same_subtree={','.join(self._some(named, 1, 3))}")
        return self._query("/allocation_candidates", parts, version)


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
