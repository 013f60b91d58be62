"""A request to each route of the bare metal API that its schema accepts, and that finds what it names.

In bodies and paths ``{node}``, ``{port}`` and so on stand for what the world has of that kind.
"""

from collections.abc import Mapping
from typing import Any

_STEP = {"interface": "bios", "step": "factory_reset", "args": {}}
_EVENT = {"event": "network.bind_port", "port_id": "{port}", "mac_address": "52:54:00:00:00:00", "status": "ACTIVE"}
_MEDIA = {"device_type": "cdrom", "image_url": "http://192.0.2.1/image.iso"}

#: What path parameters stand for, by the part of the path before them. Others are named after what they are.
PARAMETERS: Mapping[str, str] = {
    "nodes": "{node}",
    "ports": "{port}",
    "portgroups": "{portgroup}",
    "connectors": "{connector}",
    "targets": "{volume_target}",
    "chassis": "{chassis}",
    "allocations": "{allocation}",
    "deploy_templates": "{deploy_template}",
    "runbooks": "{runbook}",
    "inspection_rules": "{inspection_rule}",
    "conductors": "{conductor}",
    "drivers": "fake-hardware",
    "heartbeat": "{node}",
    "history": "{event}",
    "traits": "CUSTOM_MATRIX",
    "bios": "{bios}",
    "vifs": "vif",
    "indicators": "led@system",
    "vendor_passthru": "first_method",
    "shards": "shard",
}

BODIES: Mapping[tuple[str, str], Any] = {
    ("POST", "/v1/nodes"): {"driver": "fake-hardware"},
    ("PATCH", "/v1/nodes/<ident>"): [{"op": "add", "path": "/description", "value": "d"}],
    ("PUT", "/v1/nodes/<ident>/maintenance"): {"reason": "r"},
    ("PUT", "/v1/nodes/<ident>/states/power"): {"target": "power on"},
    ("PUT", "/v1/nodes/<ident>/states/provision"): {"target": "abort"},
    ("PUT", "/v1/nodes/<ident>/states/raid"): {"logical_disks": []},
    ("PUT", "/v1/nodes/<ident>/states/console"): {"enabled": False},
    ("PUT", "/v1/nodes/<ident>/states/boot_mode"): {"target": "uefi"},
    ("PUT", "/v1/nodes/<ident>/states/secure_boot"): {"target": True},
    ("PUT", "/v1/nodes/<ident>/management/boot_device"): {"boot_device": "pxe"},
    ("PUT", "/v1/nodes/<ident>/management/inject_nmi"): {},
    ("PUT", "/v1/nodes/<ident>/management/indicators/<indicator>"): {"state": "ON"},
    ("POST", "/v1/nodes/<ident>/vifs"): {"id": "vif"},
    ("POST", "/v1/nodes/<ident>/vmedia"): _MEDIA,
    ("PUT", "/v1/nodes/<ident>/traits"): {"traits": ["CUSTOM_MATRIX"]},
    ("POST", "/v1/nodes/<ident>/ports"): {"address": "52:54:00:00:01:01"},
    ("POST", "/v1/ports"): {"node_uuid": "{node}", "address": "52:54:00:00:01:01"},
    ("PATCH", "/v1/ports/<ident>"): [{"op": "add", "path": "/extra/a", "value": "b"}],
    ("POST", "/v1/portgroups"): {"node_uuid": "{node}"},
    ("PATCH", "/v1/portgroups/<ident>"): [{"op": "add", "path": "/extra/a", "value": "b"}],
    ("POST", "/v1/portgroups/<ident>/ports"): {"address": "52:54:00:00:01:01"},
    ("POST", "/v1/volume/connectors"): {"node_uuid": "{node}", "type": "iqn", "connector_id": "iqn:new"},
    ("PATCH", "/v1/volume/connectors/<uuid>"): [{"op": "add", "path": "/extra/a", "value": "b"}],
    ("POST", "/v1/volume/targets"): {
        "node_uuid": "{node}",
        "volume_type": "iscsi",
        "boot_index": 7,
        "volume_id": "new",
    },
    ("PATCH", "/v1/volume/targets/<uuid>"): [{"op": "add", "path": "/extra/a", "value": "b"}],
    ("POST", "/v1/chassis"): {},
    ("PATCH", "/v1/chassis/<uuid>"): [{"op": "add", "path": "/extra/a", "value": "b"}],
    ("POST", "/v1/allocations"): {"resource_class": "nothing"},
    ("PATCH", "/v1/allocations/<ident>"): [{"op": "add", "path": "/extra/a", "value": "b"}],
    ("POST", "/v1/deploy_templates"): {"name": "CUSTOM_NEW", "steps": [{**_STEP, "priority": 1}]},
    ("PATCH", "/v1/deploy_templates/<ident>"): [{"op": "add", "path": "/extra/a", "value": "b"}],
    ("POST", "/v1/runbooks"): {"name": "CUSTOM_NEW", "steps": [{**_STEP, "order": 1}]},
    ("PATCH", "/v1/runbooks/<ident>"): [{"op": "add", "path": "/extra/a", "value": "b"}],
    ("PUT", "/v1/runbooks/<ident>/traits"): {"traits": ["CUSTOM_MATRIX"]},
    ("POST", "/v1/inspection_rules"): {"conditions": [], "actions": [{"op": "log", "args": {"msg": "m"}}]},
    ("PATCH", "/v1/inspection_rules/<uuid>"): [{"op": "add", "path": "/description", "value": "d"}],
    ("POST", "/v1/events"): {"events": [_EVENT]},
    ("POST", "/v1/heartbeat/<ident>"): {"callback_url": "http://192.0.2.1:9999", "agent_version": "11.0"},
    ("POST", "/v1/continue_inspection"): {"inventory": {}},
}

#: What a route needs in its query string.
QUERIES: Mapping[tuple[str, str], str] = {
    ("GET", "/v1/lookup"): "node_uuid={node}",
    ("GET", "/v1/nodes/validate"): "node={node}",
    ("GET", "/v1/nodes/"): "node_ident={node}",
}

#: Parts of a PATCH of a node that need a rule of their own.
NODE_PATCHES: tuple[tuple[str, Any, str], ...] = (
    ("/instance_info/a", "b", "baremetal:node:update_instance_info"),
    ("/extra/a", "b", "baremetal:node:update_extra"),
    ("/driver_info/a", "b", "baremetal:node:update:driver_info"),
    ("/properties/a", "b", "baremetal:node:update:properties"),
    ("/chassis_uuid", "{chassis}", "baremetal:node:update:chassis_uuid"),
    ("/instance_uuid", "00000000-0000-4000-8000-000000000001", "baremetal:node:update:instance_uuid"),
    ("/instance_name", "i", "baremetal:node:update_instance_info"),
    ("/lessee", "l", "baremetal:node:update:lessee"),
    ("/owner", "o", "baremetal:node:update:owner"),
    ("/driver", "fake-hardware", "baremetal:node:update:driver_interfaces"),
    ("/power_interface", "fake", "baremetal:node:update:driver_interfaces"),
    ("/network_data", {"links": [], "networks": [], "services": []}, "baremetal:node:update:network_data"),
    ("/conductor_group", "", "baremetal:node:update:conductor_group"),
    ("/name", "n", "baremetal:node:update:name"),
    ("/retired", False, "baremetal:node:update:retired"),
    ("/shard", "s", "baremetal:node:update:shard"),
    ("/disable_power_off", False, "baremetal:node:update:disable_power_off"),
    ("/automated_clean", False, "baremetal:node:disable_cleaning"),
    ("/automated_clean", True, "baremetal:node:update"),
    ("/protected", False, "baremetal:node:update"),
)
RUNBOOK_PATCHES: tuple[tuple[str, Any, str], ...] = (
    ("/public", True, "baremetal:runbook:update:public"),
    ("/owner", "o", "baremetal:runbook:update:owner"),
)
#: Arguments of a provision request that need a rule of their own.
PROVISION: tuple[tuple[dict[str, Any], str], ...] = (
    ({"target": "clean", "clean_steps": [_STEP]}, "baremetal:node:set_provision_state:clean_steps"),
    ({"target": "service", "service_steps": [_STEP]}, "baremetal:node:set_provision_state:service_steps"),
)
