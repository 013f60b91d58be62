"""Bodies of requests about nodes."""

from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from baremetal_sched.baremetal.drivers import INTERFACE_TYPES
from baremetal_sched.baremetal.schemas.base import Flag, JsonObject, StrictSchema, Text, Uuid

_INTERFACES = {f"{kind}_interface": Text(longest=64, allow_none=True) for kind in INTERFACE_TYPES}


class NetworkData(JsonObject):
    """Network configuration for an instance: links, networks and services, each a list of objects; or nothing."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> dict[str, Any]:
        document = super()._deserialize(value, attr, data, **kwargs)
        if not document:
            return document
        for part in ("links", "networks", "services"):
            if part not in document:
                raise ValidationError(f"Invalid network_data: '{part}' is a required property")
            if not isinstance(document[part], list) or not all(isinstance(item, dict) for item in document[part]):
                raise ValidationError(f"Invalid network_data: {part} is not an array of objects")
        surplus = set(document) - {"links", "networks", "services"}
        if surplus:
            raise ValidationError(f"Invalid network_data: {sorted(surplus)} are not known")
        return document


_COMMON: dict[str, Any] = {
    "name": Text(allow_none=True),
    "driver": Text(longest=255, required=True),
    "driver_info": JsonObject(),
    "instance_info": JsonObject(),
    "extra": JsonObject(),
    "properties": JsonObject(),
    "chassis_uuid": Uuid(allow_none=True),
    "instance_uuid": Uuid(allow_none=True),
    "maintenance": Flag(),
    "resource_class": Text(longest=80, allow_none=True),
    "conductor_group": Text(allow_none=True),
    "automated_clean": Flag(allow_none=True),
    "owner": Text(longest=255, allow_none=True),
    "lessee": Text(longest=255, allow_none=True),
    "description": Text(longest=4096, allow_none=True),
    "retired": Flag(),
    "retired_reason": Text(longest=65535, allow_none=True),
    "network_data": NetworkData(),
    "shard": Text(longest=255, allow_none=True),
    "parent_node": Text(longest=255, allow_none=True),
    "disable_power_off": Flag(),
    "instance_name": Text(shortest=1, longest=255, allow_none=True),
    **_INTERFACES,
}


class _NodeCreate(StrictSchema):
    uuid = Uuid(allow_none=True)
    console_enabled = Flag()
    boot_mode = Text(longest=16, allow_none=True)
    secure_boot = Flag(allow_none=True)


class _NodeUpdate(StrictSchema):
    protected = Flag()
    protected_reason = Text(longest=65535, allow_none=True)


NODE_CREATE = _NodeCreate.from_dict(_COMMON, name="NodeCreate")()
NODE_UPDATE = _NodeUpdate.from_dict(_COMMON, name="NodeUpdate")()


class _Maintenance(StrictSchema):
    reason = Text(longest=65535, allow_none=True)


class _Power(StrictSchema):
    target = Text(required=True)
    timeout = fields.Integer(strict=True, allow_none=True)

    @validates_schema
    def check_timeout(self, data: dict[str, Any], **kwargs: Any) -> None:
        timeout = data.get("timeout")
        if timeout is not None and not 1 <= timeout <= 2**31 - 1:
            raise ValidationError(f"{timeout} is less than the minimum of 1", "timeout")


MAINTENANCE = _Maintenance()
POWER = _Power()
