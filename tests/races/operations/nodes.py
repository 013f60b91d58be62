"""Requests about the node n1: its deletion, state, fields and traits; and allocations of the bare metal API."""

from functools import partial
from typing import Any

from tests.races.operations.operation import Operation
from tests.races.states import CLEAN_STEPS

_operation = partial(Operation, api="baremetal")
_NODE = "/v1/nodes/{node}"
_ALLOCATIONS = "/v1/allocations"


def _hot(name: str, method: str, path: str, body: Any = None) -> Operation:
    return _operation(name, method=method, path=path, body=body, is_hot=True)


def _patch(name: str, path: str, *operations: tuple[Any, ...], is_hot: bool = False) -> Operation:
    body = [{"op": op, "path": place, **({"value": value[0]} if value else {})} for op, place, *value in operations]
    return _operation(name, method="PATCH", path=path, body=body, is_hot=is_hot)


def _verb(target: str, **more: Any) -> Operation:
    return _hot(f"node {target}", "PUT", f"{_NODE}/states/provision", {"target": target, **more})


_NEW = {"driver": "fake-hardware", "resource_class": "gold"}

OPERATIONS = (
    _hot("create node", "POST", "/v1/nodes", {**_NEW, "uuid": "{new_node}", "name": "n3"}),
    _hot("create node again", "POST", "/v1/nodes", {**_NEW, "uuid": "{node}", "name": "n4"}),
    _hot("delete node", "DELETE", _NODE),
    _hot("maintenance on", "PUT", f"{_NODE}/maintenance", {"reason": "raced"}),
    _hot("maintenance off", "DELETE", f"{_NODE}/maintenance"),
    _patch("patch extra", _NODE, ("add", "/extra/a", 1)),
    _patch("patch class", _NODE, ("replace", "/resource_class", "silver"), is_hot=True),
    _patch("patch name", _NODE, ("replace", "/name", "n9")),
    _patch("patch instance", _NODE, ("add", "/instance_uuid", "{instance}"), is_hot=True),
    _patch("patch no instance", _NODE, ("remove", "/instance_uuid"), is_hot=True),
    _patch("patch owner", _NODE, ("add", "/owner", "green"), is_hot=True),
    _patch("patch protected", _NODE, ("add", "/protected", True), is_hot=True),
    _operation("look up", method="GET", path="/v1/lookup?node_uuid={node}"),
    _patch("patch parent", "/v1/nodes/{node2}", ("add", "/parent_node", "{node}")),
    _patch("patch chassis of node", _NODE, ("add", "/chassis_uuid", "{chassis}")),
    _operation("power off", method="PUT", path=f"{_NODE}/states/power", body={"target": "power off"}),
    _verb("manage"),
    _verb("provide"),
    _verb("active"),
    _verb("deleted"),
    _verb("rebuild"),
    _verb("adopt"),
    _verb("inspect"),
    _verb("clean", runbook="{runbook}"),
    _hot("clean as foreign", "PUT", f"{_NODE}/states/provision", {"target": "clean", "runbook": "{foreign_runbook}"}),
    _verb("service", service_steps=CLEAN_STEPS),
    _hot("set traits", "PUT", f"{_NODE}/traits", {"traits": ["CUSTOM_SLOW"]}),
    _hot("remove traits", "DELETE", f"{_NODE}/traits"),
    _hot("add trait", "PUT", f"{_NODE}/traits/CUSTOM_SPARE"),
    _hot("remove trait", "DELETE", f"{_NODE}/traits/CUSTOM_FAST"),
    _hot("allocate", "POST", _ALLOCATIONS, {"uuid": "{new_allocation}", "resource_class": "gold"}),
    _hot(
        "allocate by trait",
        "POST",
        _ALLOCATIONS,
        {"uuid": "{new_allocation}", "name": "a2", "resource_class": "gold", "traits": ["CUSTOM_FAST"]},
    ),
    _operation(
        "allocate and wait",
        method="POST",
        path=_ALLOCATIONS,
        body={"uuid": "{new_allocation}", "resource_class": "gold"},
        headers={"Prefer": "allocation-wait=3600"},
        is_hot=True,
    ),
    _operation(
        "wait as new consumer",
        method="POST",
        path=_ALLOCATIONS,
        body={"uuid": "{new_consumer}", "resource_class": "gold"},
        headers={"Prefer": "allocation-wait=3600"},
        is_hot=True,
    ),
    _hot("backfill", "POST", _ALLOCATIONS, {"uuid": "{consumer}", "node": "{node}"}),
    _hot("delete allocation", "DELETE", f"{_ALLOCATIONS}/{{allocation}}"),
    _hot("delete new allocation", "DELETE", f"{_ALLOCATIONS}/{{new_allocation}}"),
    _hot("delete allocation of node", "DELETE", f"{_NODE}/allocation"),
    _patch("patch allocation", f"{_ALLOCATIONS}/{{allocation}}", ("replace", "/name", "a9")),
    _operation("raid", method="PUT", path=f"{_NODE}/states/raid", body={"logical_disks": []}),
    _operation("console", method="PUT", path=f"{_NODE}/states/console", body={"enabled": True}),
    _operation("boot mode", method="PUT", path=f"{_NODE}/states/boot_mode", body={"target": "uefi"}),
    _operation("secure boot", method="PUT", path=f"{_NODE}/states/secure_boot", body={"target": True}),
    _operation("boot device", method="PUT", path=f"{_NODE}/management/boot_device", body={"boot_device": "pxe"}),
    _operation("nmi", method="PUT", path=f"{_NODE}/management/inject_nmi", body={}),
    _operation("indicator", method="PUT", path=f"{_NODE}/management/indicators/led@chassis", body={"state": "ON"}),
    _operation("attach vif", method="POST", path=f"{_NODE}/vifs", body={"id": "{instance}"}),
    _operation("detach vif", method="DELETE", path=f"{_NODE}/vifs/{{instance}}"),
    _operation(
        "attach media",
        method="POST",
        path=f"{_NODE}/vmedia",
        body={"device_type": "cdrom", "image_url": "http://127.0.0.1/a.iso"},
    ),
    _operation("detach media", method="DELETE", path=f"{_NODE}/vmedia"),
)
