"""Requests of the compute API: servers, flavors, key pairs."""

from functools import partial
from typing import Any

from tests.races.operations.operation import Operation

_operation = partial(Operation, api="compute")
_FLAVOR, _SERVER = "/v2.1/flavors/gold", "/v2.1/servers/{server}"


def _boot(name: str, image: str, hints: dict[str, str] | None = None, **more: Any) -> Operation:
    asked = {"name": "s2", "flavorRef": "gold", "imageRef": f"{{{image}}}", "networks": "none", **more}
    body = {"server": asked, **({"os:scheduler_hints": hints} if hints else {})}
    return _operation(name, method="POST", path="/v2.1/servers", body=body, is_hot=True)


def _action(name: str, value: Any = None, called: str = "") -> Operation:
    return _operation(
        called or f"server {name}", method="POST", path=f"{_SERVER}/action", body={name: value}, is_hot=True
    )


OPERATIONS = (
    _boot("boot", "image"),
    _boot("boot plain", "plain_image"),
    _boot("boot and wait", "image", {"wait": "3600"}),
    _boot("boot picky", "picky_image"),
    _boot("boot in group", "plain_image", {"group": "{group}"}),
    _boot("boot in group and wait", "plain_image", {"group": "{group}", "wait": "3600"}),
    _boot("boot with key", "plain_image", key_name="key"),
    _operation("delete server", method="DELETE", path=_SERVER, is_hot=True),
    _operation("update server", method="PUT", path=_SERVER, body={"server": {"name": "renamed"}}),
    _action("os-start"),
    _action("os-stop"),
    _action("reboot", {"type": "HARD"}),
    _action("rebuild", {"imageRef": "{plain_image}"}),
    _action("rebuild", {"imageRef": "{picky_image}"}, "server rebuild picky"),
    _action("rescue", {"adminPass": "rescue-me"}),
    _action("unrescue"),
    _action("lock"),
    _action("unlock"),
    _operation("add metadata", method="POST", path=f"{_SERVER}/metadata", body={"metadata": {"b": "c"}}),
    _operation("set metadata", method="PUT", path=f"{_SERVER}/metadata", body={"metadata": {"d": "e"}}),
    _operation("set item", method="PUT", path=f"{_SERVER}/metadata/a", body={"meta": {"a": "z"}}),
    _operation("delete item", method="DELETE", path=f"{_SERVER}/metadata/a"),
    _operation("set tags", method="PUT", path=f"{_SERVER}/tags", body={"tags": ["one", "two"]}),
    _operation("delete tags", method="DELETE", path=f"{_SERVER}/tags"),
    _operation("add tag", method="PUT", path=f"{_SERVER}/tags/three"),
    _operation("delete tag", method="DELETE", path=f"{_SERVER}/tags/one"),
    _operation(
        "create flavor",
        method="POST",
        path="/v2.1/flavors",
        body={"flavor": {"name": "new", "id": "new", "ram": 1, "vcpus": 1, "disk": 1}},
    ),
    _operation("update flavor", method="PUT", path=_FLAVOR, body={"flavor": {"description": "raced"}}),
    _operation("delete flavor", method="DELETE", path=_FLAVOR, is_hot=True),
    _operation(
        "add spec",
        method="POST",
        path=f"{_FLAVOR}/os-extra_specs",
        body={"extra_specs": {"trait:CUSTOM_SLOW": "required"}},
        is_hot=True,
    ),
    _operation(
        "set spec",
        method="PUT",
        path=f"{_FLAVOR}/os-extra_specs/trait:CUSTOM_FAST",
        body={"trait:CUSTOM_FAST": "forbidden"},
        is_hot=True,
    ),
    _operation("delete spec", method="DELETE", path=f"{_FLAVOR}/os-extra_specs/resources:VCPU"),
    _operation(
        "give flavor",
        method="POST",
        path="/v2.1/flavors/private/action",
        body={"addTenantAccess": {"tenant": "green"}},
    ),
    _operation(
        "create key", method="POST", path="/v2.1/os-keypairs", body={"keypair": {"name": "new", "public_key": "{key}"}}
    ),
    _operation(
        "create server group",
        method="POST",
        path="/v2.1/os-server-groups",
        body={"server_group": {"name": "new", "policy": "affinity"}},
    ),
    _operation("delete server group", method="DELETE", path="/v2.1/os-server-groups/{group}", is_hot=True),
    _operation("delete key", method="DELETE", path="/v2.1/os-keypairs/key", is_hot=True),
)
