"""Bodies of requests about portgroups."""

from baremetal_sched.baremetal.schemas.base import LogicalName, MacAddress
from baremetal_sched.documents.schema import Flag, JsonObject, StrictSchema, Text, Uuid


class _Portgroup(StrictSchema):
    node_uuid = Uuid(required=True)
    name = LogicalName(allow_none=True)
    address = MacAddress(allow_none=True)
    extra = JsonObject()
    standalone_ports_supported = Flag(allow_none=True)
    properties = JsonObject()
    physical_network = Text(longest=64, allow_none=True)
    category = Text(longest=80, allow_none=True)


class _PortgroupCreate(_Portgroup):
    uuid = Uuid(allow_none=True)
    mode = Text(longest=255, allow_none=True)


class _PortgroupUpdate(_Portgroup):
    #: Mandatory: it cannot be removed.
    mode = Text(longest=255, shortest=1, required=True)


PORTGROUP_CREATE = _PortgroupCreate()
PORTGROUP_UPDATE = _PortgroupUpdate()
