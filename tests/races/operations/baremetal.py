"""Requests about all else of the bare metal API."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from tests.races.operations.operation import Operation
from tests.races.states import ACTIONS, CLEAN_STEPS, STEPS

_operation = partial(Operation, api="baremetal")


def _resource(
    name: str, path: str, body: dict[str, Any], field: str, value: Any, *, uuid: str | None = None, is_hot: bool = False
) -> Iterator[Operation]:
    """Creating another one, changing a field of one and deleting it."""
    key = uuid or name
    yield _operation(f"create {name}", method="POST", path=path, body={"uuid": f"{{new_{key}}}", **body})
    change = [{"op": "add", "path": f"/{field}", "value": value}]
    yield _operation(f"patch {name}", method="PATCH", path=f"{path}/{{{key}}}", body=change, is_hot=is_hot)
    yield _operation(f"delete {name}", method="DELETE", path=f"{path}/{{{key}}}", is_hot=is_hot)


_RUNBOOK = "/v1/runbooks/{runbook}/traits"
_PORT = {"node_uuid": "{node}", "address": "52:54:00:00:00:02", "portgroup_uuid": "{portgroup}"}
_CONNECTOR = {"node_uuid": "{node}", "type": "iqn", "connector_id": "iqn.2017-07.org.example:2"}
_TARGET = {"node_uuid": "{node}", "volume_type": "iscsi", "boot_index": 1, "volume_id": "2"}

OPERATIONS = (
    *_resource("chassis", "/v1/chassis", {}, "description", "raced"),
    *_resource("port", "/v1/ports", _PORT, "extra/a", 1),
    *_resource("portgroup", "/v1/portgroups", {"node_uuid": "{node}", "name": "bond2"}, "extra/a", 1),
    *_resource("connector", "/v1/volume/connectors", _CONNECTOR, "extra/a", 1),
    *_resource("target", "/v1/volume/targets", _TARGET, "extra/a", 1),
    *_resource("template", "/v1/deploy_templates", {"name": "CUSTOM_SLOW", "steps": STEPS}, "extra/a", 1, is_hot=True),
    *_resource(
        "runbook", "/v1/runbooks", {"name": "CUSTOM_SLOW", "steps": CLEAN_STEPS}, "steps/0/order", 9, is_hot=True
    ),
    *_resource("rule", "/v1/inspection_rules", {"actions": ACTIONS}, "priority", 7),
    _operation("set runbook traits", method="PUT", path=_RUNBOOK, body={"traits": ["CUSTOM_SLOW"]}, is_hot=True),
    _operation("remove runbook traits", method="DELETE", path=_RUNBOOK, is_hot=True),
    _operation(
        "patch foreign runbook",
        method="PATCH",
        path="/v1/runbooks/{foreign_runbook}",
        body=[
            {
                "op": "replace",
                "path": "/steps",
                "value": [{**CLEAN_STEPS[0], "interface": "deploy", "step": "erase_devices"}],
            }
        ],
        is_hot=True,
    ),
    _operation(
        "approve foreign runbook",
        method="PUT",
        path="/v1/runbooks/{foreign_runbook}/traits",
        body={"traits": ["CUSTOM_FAST"]},
        is_hot=True,
    ),
    _operation("add runbook trait", method="PUT", path=f"{_RUNBOOK}/CUSTOM_SPARE"),
    _operation("remove runbook trait", method="DELETE", path=f"{_RUNBOOK}/CUSTOM_FAST"),
    _operation("delete rules", method="DELETE", path="/v1/inspection_rules"),
    _operation(
        "heartbeat",
        method="POST",
        path="/v1/heartbeat/{node}",
        body={"callback_url": "http://127.0.0.1:9999", "agent_version": "9.0.0"},
    ),
    _operation(
        "continue inspection",
        method="POST",
        path="/v1/continue_inspection?node_uuid={node}",
        body={"inventory": {"interfaces": [], "bmc_address": "127.0.0.1"}},
    ),
)
