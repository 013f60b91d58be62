"""Calls that write."""

from typing import Any
from urllib.parse import quote

from tests.conformance.differential.calls import Call, Generation
from tests.conformance.differential.dice import Dice
from tests.conformance.differential.world import (
    AGGREGATES,
    CLASSES,
    CONSUMERS,
    PROJECTS,
    PROVIDERS,
    SHARING,
    TRAITS,
    TYPES,
    USERS,
)

# -- how an episode begins


def names(dice: Dice) -> list[Call]:
    """Most of the custom names."""
    paths = [f"/resource_classes/{name}" for name in CLASSES if name.startswith("CUSTOM")]
    paths += [f"/traits/{name}" for name in TRAITS if name.startswith("CUSTOM")]
    return [Call("PUT", path, "1.39") for path in paths if dice.chance(0.85)]


def providers(dice: Dice) -> list[Call]:
    """Most of the providers, in a few trees, with inventories, traits and aggregates."""
    calls = []
    made: list[str] = []
    for number, uuid in enumerate(PROVIDERS):
        if dice.chance(0.15):
            continue
        path = f"/resource_providers/{uuid}"
        parent = dice.one(made) if made and dice.chance(0.6) else None
        body = {"name": f"name{number}", "uuid": uuid, "parent_provider_uuid": parent}
        traits = [name for name in dice.some(TRAITS, 0, 3) if name != SHARING or dice.chance(0.5)]
        generation = {"resource_provider_generation": Generation("provider", uuid)}
        calls += [
            Call("POST", "/resource_providers", "1.39", body),
            Call("PUT", f"{path}/inventories", "1.39", generation | {"inventories": dice.inventories(uuid, 1, 2, 3)}),
            Call("GET", path, "1.39"),
            Call("PUT", f"{path}/traits", "1.39", generation | {"traits": traits}),
            Call("PUT", f"{path}/aggregates", "1.18", dice.some(AGGREGATES, 0, 2)),
        ]
        made.append(uuid)
    return calls


# -- providers


def create_provider(dice: Dice) -> Call:
    uuid = dice.provider()
    version = dice.version()
    body: dict[str, Any] = {"name": f"name{PROVIDERS.index(uuid) if uuid in PROVIDERS else 'x'}", "uuid": uuid}
    if dice.chance(0.1):
        body["name"] = dice.one(["name0", "name1", "é", "", "x" * 200, "x" * 201])
    if dice.chance(0.04):
        body["uuid"] = "{" + uuid.upper() + "}"
    if dice.chance(0.03):
        body.pop("uuid")
    if (version >= 14 and dice.chance(0.5)) or dice.chance(0.02):
        body["parent_provider_uuid"] = dice.one([dice.provider(), dice.provider(), None])
    return Call("POST", "/resource_providers", f"1.{version}", body)


def update_provider(dice: Dice) -> Call:
    uuid = dice.provider()
    version = dice.version()
    name = f"name{PROVIDERS.index(uuid)}" if uuid in PROVIDERS else "x"
    body: dict[str, Any] = {"name": dice.one(["name0", "new", "", "é"]) if dice.chance(0.2) else name}
    if (version >= 14 and dice.chance(0.7)) or dice.chance(0.02):
        body["parent_provider_uuid"] = None if dice.chance(0.2) else dice.provider()
    return Call("PUT", f"/resource_providers/{uuid}", f"1.{version}", body)


def delete_provider(dice: Dice) -> Call:
    return Call("DELETE", f"/resource_providers/{dice.provider()}", f"1.{dice.version()}")


def write_inventories(dice: Dice) -> Call:
    uuid = dice.provider()
    version = dice.version()
    generation = dice.generation("provider", uuid)
    body = {"resource_provider_generation": generation, "inventories": dice.inventories(uuid, 0, 1, 2, 2, 3)}
    return Call("PUT", f"/resource_providers/{uuid}/inventories", f"1.{version}", body)


def write_inventory(dice: Dice) -> Call:
    uuid = dice.provider()
    body = dice.inventory() | {"resource_provider_generation": dice.generation("provider", uuid)}
    return Call("PUT", f"/resource_providers/{uuid}/inventories/{dice.class_of(uuid)}", f"1.{dice.version()}", body)


def add_inventory(dice: Dice) -> Call:
    uuid = dice.provider()
    name = dice.resource_class()
    dice.stocked.setdefault(uuid, []).append(name)
    body = dice.inventory() | {"resource_class": name}
    return Call("POST", f"/resource_providers/{uuid}/inventories", f"1.{dice.version()}", body)


def delete_inventory(dice: Dice) -> Call:
    uuid = dice.provider()
    path = f"/resource_providers/{uuid}/inventories"
    return Call("DELETE", path if dice.chance(0.3) else f"{path}/{dice.class_of(uuid)}", f"1.{dice.version(5)}")


def write_aggregates(dice: Dice) -> Call:
    uuid = dice.provider()
    version = dice.version(1)
    body: Any = dice.some(AGGREGATES)
    if dice.chance(0.03):
        body.append(dice.one([AGGREGATES[0].upper(), AGGREGATES[1].replace("-", "")]))
    if version >= 19:
        body = {"aggregates": body, "resource_provider_generation": dice.generation("provider", uuid)}
    return Call("PUT", f"/resource_providers/{uuid}/aggregates", f"1.{version}", body)


def write_provider_traits(dice: Dice) -> Call:
    uuid = dice.provider()
    path = f"/resource_providers/{uuid}/traits"
    version = f"1.{dice.version(6)}"
    if dice.chance(0.1):
        return Call("DELETE", path, version)
    traits = [dice.trait() for _ in range(dice.number(0, 3))]
    return Call(
        "PUT", path, version, {"traits": traits, "resource_provider_generation": dice.generation("provider", uuid)}
    )


# -- names


def write_trait(dice: Dice) -> Call:
    name = dice.one(["CUSTOM_bad", "x", "CUSTOM_", "CUSTOM_" + "X" * 250]) if dice.chance(0.1) else dice.trait()
    method = dice.one(["GET", "PUT", "PUT", "PUT", "PUT", "DELETE"])
    return Call(method, f"/traits/{quote(name)}", f"1.{dice.version(6)}")


def write_class(dice: Dice) -> Call:
    name = dice.one(["CUSTOM_bad", "x", "CUSTOM_" + "X" * 250]) if dice.chance(0.1) else dice.resource_class()
    version = dice.number(2, 6) if dice.chance(0.3) else dice.version(2)
    match dice.one(["GET", "GET", "PUT", "PUT", "PUT", "PUT", "DELETE", "POST", "LIST"]):
        case "LIST":
            return Call("GET", "/resource_classes", f"1.{version}")
        case "POST":
            return Call("POST", "/resource_classes", f"1.{version}", {"name": name})
        case "PUT":
            body = {"name": dice.resource_class()} if version < 7 or dice.chance(0.02) else None
            return Call("PUT", f"/resource_classes/{name}", f"1.{version}", body)
        case method:
            return Call(method, f"/resource_classes/{name}", f"1.{version}")


# -- allocations


def _holding(dice: Dice, version: int) -> Any:
    """Allocations in the form of the version."""
    uuids = dice.some(PROVIDERS, 1, dice.one([1, 1, 2]))
    if dice.chance(0.02):
        uuids.append(dice.one([AGGREGATES[0], PROVIDERS[0].upper()]))
    held: dict[str, dict[str, Any]] = {
        uuid: {"resources": {dice.class_of(uuid): dice.amount() for _ in range(dice.one([1, 1, 2]))}} for uuid in uuids
    }
    if version < 12:
        return [{"resource_provider": {"uuid": uuid}, **item} for uuid, item in held.items()]
    if dice.chance(0.03):
        held[uuids[0]]["generation"] = dice.one([0, 3])
    return held


def _consumer(dice: Dice, uuid: str, version: int, *, may_be_empty: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"allocations": _holding(dice, version)}
    if may_be_empty and dice.chance(0.12):
        body["allocations"] = {}
    if version >= 8:
        body |= {"project_id": dice.one(PROJECTS), "user_id": dice.one(USERS)}
    if version >= 28:
        body["consumer_generation"] = dice.generation("consumer", uuid)
    if version >= 34 and dice.chance(0.1):
        body["mappings"] = {dice.one(["", "1", "_x"]): [PROVIDERS[0]]}
    if version >= 38:
        body["consumer_type"] = dice.one(["unknown", "", "x", "A1"] if dice.chance(0.03) else TYPES)
    return body


def claim(dice: Dice) -> Call:
    uuid = dice.one(CONSUMERS)
    version = dice.version()
    shown = uuid
    if dice.chance(0.03):
        shown = dice.one([uuid.upper(), uuid.replace("-", ""), "nothing", "{" + uuid + "}"])
    body = _consumer(dice, uuid, version, may_be_empty=version >= 28 or dice.chance(0.02))
    return Call("PUT", f"/allocations/{quote(shown)}", f"1.{version}", body)


def _consumers(dice: Dice, version: int, least: int) -> dict[str, Any]:
    return {uuid: _consumer(dice, uuid, version, may_be_empty=True) for uuid in dice.some(CONSUMERS, least, 3)}


def claim_many(dice: Dice) -> Call:
    version = dice.version(13)
    return Call("POST", "/allocations", f"1.{version}", _consumers(dice, max(version, 12), 1))


def release(dice: Dice) -> Call:
    return Call("DELETE", f"/allocations/{dice.one([*CONSUMERS, 'nothing'])}", f"1.{dice.version()}")


def reshape(dice: Dice) -> Call:
    version = dice.version(30)
    inventories = {
        uuid: {
            "resource_provider_generation": dice.generation("provider", uuid),
            "inventories": dice.inventories(uuid, 0, 1, 2, 2, 3),
        }
        for uuid in dice.some(PROVIDERS, 1, 2)
    }
    body = {"inventories": inventories, "allocations": _consumers(dice, max(version, 28), 0)}
    return Call("POST", "/reshaper", f"1.{version}", body)
