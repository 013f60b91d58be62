"""Calls that look, with query strings: lists, usages, allocation candidates."""

from tests.conformance.differential.calls import Call
from tests.conformance.differential.dice import Dice
from tests.conformance.differential.world import AGGREGATES, CONSUMERS, PROJECTS, TRAITS, TYPES, USERS


def _call(dice: Dice, path: str, parts: list[str], version: int) -> Call:
    if dice.chance(0.03):
        parts.append(dice.one(["unknown=1", "name=%FF", "limit=0", "resources=", "required=", *parts]))
    dice.shuffle(parts)
    return Call("GET", f"{path}?{'&'.join(parts)}" if parts else path, f"1.{version}")


# -- values


def resources(dice: Dice, *numbers: int) -> str:
    if dice.chance(0.03):
        odd = ["", "VCPU", "VCPU:0", "VCPU:-1", "VCPU:x", "VCPU:1:1", "VCPU:1,", "NO:1", "VCPU:%201"]
        return str(dice.one(odd))
    return ",".join(f"{name}:{dice.amount()}" for name in dice.resource_classes(*numbers))


def member_of(dice: Dice, name: str, version: int) -> str:
    wanted = dice.some(AGGREGATES, 1, 2)
    if dice.chance(0.05):
        wanted = [dice.one(["x", "", AGGREGATES[0].upper()])]
    sign = "!" if dice.chance(0.3 if version >= 32 else 0.03) else ""
    value = f"in:{','.join(wanted)}" if len(wanted) > 1 or dice.chance(0.3) else wanted[0]
    if dice.chance(0.03):
        value = ",".join(AGGREGATES[:2])
    text = f"{name}={sign}{value}"
    return f"{text}&{name}={dice.one(AGGREGATES)}" if dice.chance(0.2 if version >= 24 else 0.02) else text


def required(dice: Dice, name: str, version: int) -> str:
    wanted = [
        ("!" if dice.chance(0.4 if version >= 22 else 0.03) else "") + dice.trait() for _ in range(dice.one([1, 1, 2]))
    ]
    value = ",".join(wanted)
    if dice.chance(0.3 if version >= 39 else 0.02):
        value = "in:" + ",".join(dice.some(TRAITS, 1, 3))
    if dice.chance(0.03):
        value = dice.one(["", "!", "in:", "in:!CUSTOM_X", "CUSTOM_X,", "!!CUSTOM_X", "%20CUSTOM_X", "a,,b"])
    text = f"{name}={value}"
    return f"{text}&{name}={dice.trait()}" if dice.chance(0.1) else text


# -- calls


def look(dice: Dice) -> Call:
    uuid = dice.provider()
    paths = [
        f"/resource_providers/{uuid}",
        f"/resource_providers/{uuid}/inventories",
        f"/resource_providers/{uuid}/inventories/{dice.resource_class()}",
        f"/resource_providers/{uuid}/usages",
        f"/resource_providers/{uuid}/aggregates",
        f"/resource_providers/{uuid}/traits",
        f"/resource_providers/{uuid}/allocations",
        f"/allocations/{dice.one(CONSUMERS)}",
        f"/allocations/{dice.one(CONSUMERS)}",
    ]
    return Call("GET", dice.one(paths), f"1.{dice.version(1)}")


def list_providers(dice: Dice) -> Call:
    version = dice.version()
    parts = []
    if dice.chance(0.15):
        parts.append(f"name={dice.one(['name0', 'name1', 'none', ''])}")
    if dice.chance(0.15):
        parts.append(f"uuid={dice.provider()}")
    if dice.chance(0.4 if version >= 3 else 0.03):
        parts.append(member_of(dice, "member_of", version))
    if dice.chance(0.4 if version >= 4 else 0.03):
        parts.append(f"resources={resources(dice, 1, 1, 2)}")
    if dice.chance(0.3 if version >= 14 else 0.03):
        parts.append(f"in_tree={dice.provider()}")
    if dice.chance(0.4 if version >= 18 else 0.03):
        parts.append(required(dice, "required", version))
    return _call(dice, "/resource_providers", parts, version)


def list_traits(dice: Dice) -> Call:
    parts = []
    if dice.chance(0.6):
        names = ["in:CUSTOM_X,CUSTOM_Y,NO", "startswith:CUSTOM_", "startswith:HW_CPU_X", "in:", "x", "other:x", ""]
        parts.append(f"name={dice.one(names)}")
    if dice.chance(0.6):
        parts.append(f"associated={dice.one(['true', 'false', 'True', 'x', ''])}")
    return _call(dice, "/traits", parts, dice.version(6))


def usages(dice: Dice) -> Call:
    version = dice.version(9)
    parts = [] if dice.chance(0.05) else [f"project_id={dice.one([*PROJECTS, *PROJECTS, 'none', ''])}"]
    if dice.chance(0.4):
        parts.append(f"user_id={dice.one([*USERS, *USERS, 'none', ''])}")
    if dice.chance(0.5 if version >= 38 else 0.03):
        parts.append(f"consumer_type={dice.one([*TYPES, 'all', 'unknown', 'x', 'allx', 'NONE', ''])}")
    return _call(dice, "/usages", parts, version)


def candidates(dice: Dice) -> Call:
    version = dice.version(10)
    parts = []
    suffixes = [""] if version < 25 or dice.chance(0.4) else dice.some(["", "1", "2", "3"], 1, 3)
    if version >= 33:
        suffixes = [f"_{suffix}" if suffix and dice.chance(0.5) else suffix for suffix in suffixes]
    for suffix in suffixes:
        parts += _group(dice, suffix, version, few=len(suffixes) > 1)
    if dice.chance(0.2 if version >= 16 else 0.02):
        parts.append(f"limit={dice.one([1, 2, 3, 5, 100] if dice.chance(0.9) else [0, 'x'])}")
    if len(suffixes) > 1 and not dice.chance(0.05):
        parts.append(f"group_policy={dice.one(['none', 'isolate'] if dice.chance(0.95) else ['bogus'])}")
    if dice.chance(0.1 if version >= 35 else 0.01):
        parts.append(f"root_required={dice.one(['', '!'])}{dice.trait()}")
    named = [suffix for suffix in suffixes if suffix]
    if named and dice.chance(0.3 if version >= 36 else 0.02):
        parts.append(f"same_subtree={','.join(dice.some(named, 1, 3))}")
    return _call(dice, "/allocation_candidates", parts, version)


def _group(dice: Dice, suffix: str, version: int, *, few: bool) -> list[str]:
    """The parameters of a group; conditions are rarer where there are several groups, so that something is found."""
    rarer = 0.5 if few else 1.0
    parts = []
    if not dice.chance(0.1 if version >= 36 and suffix else 0.02):
        parts += [f"resources{suffix}={resources(dice, 1, 1, 1, 2, 2, 3)}" for _ in range(1 + dice.chance(0.05))]
    if dice.chance(0.35 * rarer if version >= 17 else 0.02):
        parts.append(required(dice, f"required{suffix}", version))
    if dice.chance(0.25 * rarer if version >= 21 else 0.02):
        parts.append(member_of(dice, f"member_of{suffix}", version))
    if dice.chance(0.1 if version >= 31 else 0.02):
        parts.append(f"in_tree{suffix}={dice.provider()}")
    return parts
