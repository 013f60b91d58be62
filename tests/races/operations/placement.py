"""Requests of the placement API: claims and releases, providers, inventories, names."""

from functools import partial
from typing import Any

from tests.races.operations.operation import Operation

_operation = partial(Operation, api="placement")
_hot = partial(Operation, api="placement", is_hot=True)
_RP, _TOTALS = "/resource_providers", {"min_unit": 1, "step_size": 1, "allocation_ratio": 1.0}


def _of_consumer(allocations: dict[str, Any], generation: Any = None) -> dict[str, Any]:
    return {
        "allocations": {provider: {"resources": amounts} for provider, amounts in allocations.items()},
        "consumer_generation": generation,
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "INSTANCE",
    }


_GOLD, _FPGA, _VCPU = {"{node}": {"CUSTOM_GOLD": 1}}, {"{child}": {"CUSTOM_FPGA": 1}}, {"{provider2}": {"VCPU": 8}}
_OLD = {"allocations": [{"resource_provider": {"uuid": "{node}"}, "resources": {"CUSTOM_GOLD": 1}}]}
_HELD = "{generation:consumer}"
_STOCK = {"VCPU": {"total": 4, "max_unit": 4, "reserved": 0, **_TOTALS}}


def _given(provider: str, **more: Any) -> dict[str, Any]:
    return {"resource_provider_generation": f"{{generation:{provider}}}", **more}


def _claim(name: str, consumer: str, body: Any, version: str | None = None) -> Operation:
    return _hot(name, method="PUT", path=f"/allocations/{{{consumer}}}", body=body, version=version)


_MOVE = {"{consumer}": _of_consumer({}, _HELD), "{new_consumer}": _of_consumer(_GOLD)}
_SHAPE = {
    "inventories": {
        "{provider}": _given("provider", inventories=_STOCK),
        "{provider2}": _given("provider2", inventories={}),
    },
    "allocations": {"{other_consumer}": _of_consumer({"{provider}": {"VCPU": 2}}, "{generation:other_consumer}")},
}

OPERATIONS = (
    _claim("claim node", "new_consumer", _of_consumer(_GOLD)),
    _claim("claim node as old client", "new_consumer", {**_OLD, "project_id": "p", "user_id": "u"}, "1.8"),
    _claim("claim child", "new_consumer", _of_consumer(_FPGA)),
    _claim("claim node and child", "new_consumer", _of_consumer({**_GOLD, **_FPGA})),
    _claim("claim provider", "new_consumer", _of_consumer(_VCPU)),
    _claim("claim node and provider", "new_consumer", _of_consumer({**_GOLD, "{provider}": {"VCPU": 1}})),
    _claim("claim again", "consumer", _of_consumer(_GOLD, _HELD)),
    _claim("claim child too", "consumer", _of_consumer({**_GOLD, **_FPGA}, _HELD)),
    _claim("claim another instead", "consumer", _of_consumer({"{node2}": {"CUSTOM_SILVER": 1}}, _HELD)),
    _claim("empty consumer", "consumer", _of_consumer({}, _HELD)),
    _hot("claim with others", method="POST", path="/allocations", body={"{new_consumer}": _of_consumer(_GOLD)}),
    _hot("move claim", method="POST", path="/allocations", body=_MOVE),
    _hot("release", method="DELETE", path="/allocations/{consumer}"),
    _hot("release new", method="DELETE", path="/allocations/{new_consumer}"),
    _hot("release other", method="DELETE", path="/allocations/{other_consumer}"),
    _hot("release allocation", method="DELETE", path="/allocations/{allocation}"),
    _hot("release server", method="DELETE", path="/allocations/{server}"),
    _hot("reshape", method="POST", path="/reshaper", body=_SHAPE),
    _operation("create provider", method="POST", path=_RP, body={"name": "new", "uuid": "{new_provider}"}),
    _hot(
        "create child",
        method="POST",
        path=_RP,
        body={"name": "new child", "uuid": "{new_child}", "parent_provider_uuid": "{node}"},
    ),
    _hot("delete provider", method="DELETE", path=f"{_RP}/{{provider2}}"),
    _hot("delete child", method="DELETE", path=f"{_RP}/{{child}}"),
    _hot("delete node's provider", method="DELETE", path=f"{_RP}/{{node}}"),
    _hot(
        "move below node",
        method="PUT",
        path=f"{_RP}/{{provider}}",
        body={"name": "provider", "parent_provider_uuid": "{node}"},
    ),
    _hot(
        "move child away",
        method="PUT",
        path=f"{_RP}/{{child}}",
        body={"name": "child", "parent_provider_uuid": "{provider2}"},
    ),
    _hot("free child", method="PUT", path=f"{_RP}/{{child}}", body={"name": "child", "parent_provider_uuid": None}),
    _operation("rename provider", method="PUT", path=f"{_RP}/{{provider}}", body={"name": "renamed"}),
    _hot(
        "add inventory",
        method="POST",
        path=f"{_RP}/{{provider}}/inventories",
        body={"resource_class": "CUSTOM_SPARE", "total": 1},
    ),
    _hot(
        "add inventory of child",
        method="POST",
        path=f"{_RP}/{{child}}/inventories",
        body={"resource_class": "CUSTOM_SPARE", "total": 1},
    ),
    _hot(
        "set inventories",
        method="PUT",
        path=f"{_RP}/{{provider}}/inventories",
        body=_given("provider", inventories=_STOCK),
    ),
    _hot("set no inventories", method="PUT", path=f"{_RP}/{{child}}/inventories", body=_given("child", inventories={})),
    _hot("set inventory", method="PUT", path=f"{_RP}/{{provider}}/inventories/VCPU", body=_given("provider", total=4)),
    _hot("delete inventories", method="DELETE", path=f"{_RP}/{{provider2}}/inventories"),
    _hot(
        "set inventories to none",
        method="PUT",
        path=f"{_RP}/{{provider2}}/inventories",
        body=_given("provider2", inventories={}),
    ),
    _hot("delete inventories of child", method="DELETE", path=f"{_RP}/{{child}}/inventories"),
    _hot("delete inventory", method="DELETE", path=f"{_RP}/{{child}}/inventories/CUSTOM_FPGA"),
    _operation(
        "set aggregates",
        method="PUT",
        path=f"{_RP}/{{provider}}/aggregates",
        body=_given("provider", aggregates=["{aggregate}"]),
    ),
    _operation(
        "set provider traits",
        method="PUT",
        path=f"{_RP}/{{provider}}/traits",
        body=_given("provider", traits=["CUSTOM_SPARE"]),
    ),
    _operation(
        "set traits of node's provider",
        method="PUT",
        path=f"{_RP}/{{node}}/traits",
        body=_given("node", traits=["CUSTOM_FAST", "COMPUTE_STATUS_DISABLED"]),
    ),
    _operation("delete provider traits", method="DELETE", path=f"{_RP}/{{child}}/traits"),
    _operation("create class", method="POST", path="/resource_classes", body={"name": "CUSTOM_NEW"}),
    _operation("ensure class", method="PUT", path="/resource_classes/CUSTOM_NEW"),
    _operation(
        "rename class",
        method="PUT",
        path="/resource_classes/CUSTOM_SPARE",
        body={"name": "CUSTOM_OTHER"},
        version="1.6",
    ),
    _hot("delete class", method="DELETE", path="/resource_classes/CUSTOM_SPARE"),
    _hot("delete class of children", method="DELETE", path="/resource_classes/CUSTOM_FPGA"),
    _operation("ensure trait", method="PUT", path="/traits/CUSTOM_NEW"),
    _hot("delete trait", method="DELETE", path="/traits/CUSTOM_SPARE"),
    _hot("delete used trait", method="DELETE", path="/traits/CUSTOM_FAST"),
)
