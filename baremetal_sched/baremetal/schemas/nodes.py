"""Bodies of requests about nodes and chassis."""

from typing import Any

from marshmallow import ValidationError, validates_schema

from baremetal_sched.baremetal.schemas.provisioning.network_data import NetworkData
from baremetal_sched.baremetal.schemas.provisioning.runbooks import Count
from baremetal_sched.db.types import LARGEST_MESSAGE
from baremetal_sched.documents.schema import Flag, JsonObject, StrictSchema, Text, Uuid
from baremetal_sched.machines.interface_types import INTERFACE_TYPES

_INTERFACES = {f"{kind}_interface": Text(longest=64, allow_none=True) for kind in INTERFACE_TYPES}


_COMMON: dict[str, Any] = {
    "name": Text(allow_none=True),
    "driver": Text(longest=255, required=True),
    "driver_info": JsonObject(),
    "instance_info": JsonObject(),
    "extra": JsonObject(),
    "properties": JsonObject(),
    "chassis_uuid": Uuid(allow_none=True),
    "instance_uuid": Uuid(allow_none=True),
    "maintenance": Flag(allow_none=True),
    "resource_class": Text(longest=80, allow_none=True),
    "conductor_group": Text(allow_none=True),
    "automated_clean": Flag(allow_none=True),
    "owner": Text(longest=255, allow_none=True),
    "lessee": Text(longest=255, allow_none=True),
    "description": Text(longest=4096, allow_none=True),
    "retired": Flag(allow_none=True),
    "retired_reason": Text(most_bytes=LARGEST_MESSAGE, allow_none=True),
    "network_data": NetworkData(),
    "shard": Text(longest=255, allow_none=True),
    "parent_node": Text(longest=255, allow_none=True),
    "disable_power_off": Flag(allow_none=True),
    "instance_name": Text(shortest=1, longest=255, allow_none=True),
    **_INTERFACES,
}


class _NodeCreate(StrictSchema):
    """The fields that only a new node may be given."""

    uuid = Uuid(allow_none=True)
    console_enabled = Flag(allow_none=True)
    boot_mode = Text(longest=16, allow_none=True)
    secure_boot = Flag(allow_none=True)


class _NodeUpdate(StrictSchema):
    """The fields that only an existing node may be given."""

    protected = Flag(allow_none=True)
    protected_reason = Text(most_bytes=LARGEST_MESSAGE, allow_none=True)


NODE_CREATE = _NodeCreate.from_dict(_COMMON, name="NodeCreate")()
NODE_UPDATE = _NodeUpdate.from_dict(_COMMON, name="NodeUpdate")()


class _Maintenance(StrictSchema):
    """The body of PUT /v1/nodes/{node}/maintenance."""

    reason = Text(most_bytes=LARGEST_MESSAGE, allow_none=True)


class _Power(StrictSchema):
    """The body of PUT /v1/nodes/{node}/states/power."""

    target = Text(required=True)
    timeout = Count(allow_none=True)

    @validates_schema
    def check_timeout(self, data: dict[str, Any], **kwargs: Any) -> None:
        timeout = data.get("timeout")
        if timeout is not None and not 1 <= timeout <= 2**31 - 1:
            raise ValidationError(f"{timeout} is less than the minimum of 1", "timeout")


MAINTENANCE = _Maintenance()
POWER = _Power()


class _ChassisCreate(StrictSchema):
    """A new chassis."""

    uuid = Uuid(allow_none=True)
    description = Text(longest=255, allow_none=True)
    extra = JsonObject()


class _ChassisUpdate(_ChassisCreate):
    """A chassis as a PATCH leaves it, whose UUID cannot be removed."""

    uuid = Uuid(required=True)


CHASSIS_CREATE = _ChassisCreate()
CHASSIS_UPDATE = _ChassisUpdate()
