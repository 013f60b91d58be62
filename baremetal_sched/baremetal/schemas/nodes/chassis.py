"""Bodies of requests about chassis."""

from baremetal_sched.documents.schema import JsonObject, StrictSchema, Text, Uuid


class _ChassisCreate(StrictSchema):
    uuid = Uuid(allow_none=True)
    description = Text(longest=255, allow_none=True)
    extra = JsonObject()


class _ChassisUpdate(_ChassisCreate):
    uuid = Uuid(required=True)


CHASSIS_CREATE = _ChassisCreate()
CHASSIS_UPDATE = _ChassisUpdate()
