"""Bodies of POST /v1/events: what other services have to say."""

from marshmallow import Schema, fields, validate

from baremetal_sched.baremetal.schemas.base import MacAddress
from baremetal_sched.documents.schema import StrictSchema, Text, Uuid, one_of

EVENTS = ("network.bind_port", "network.unbind_port", "network.delete_port")

_Event = StrictSchema.from_dict(
    {
        "event": fields.String(required=True, validate=one_of(*EVENTS)),
        "port_id": Uuid(required=True),
        "mac_address": MacAddress(required=True),
        "status": Text(required=True),
        "device_id": Uuid(allow_none=True),
        "binding:host_id": Uuid(allow_none=True),
        "binding:vnic_type": Text(allow_none=True),
    },
    name="Event",
)


class _Events(StrictSchema):
    events = fields.List(fields.Nested(_Event), required=True, validate=validate.Length(min=1))


EVENT: Schema = _Event()
EVENTS_POSTED = _Events()
