"""What agents on machines say."""

from marshmallow import INCLUDE, Schema, fields, validate

from baremetal_sched.documents.schema import StrictSchema, Text


class _Heartbeat(StrictSchema):
    callback_url = Text(required=True)
    agent_token = Text(allow_none=True)
    agent_version = Text(allow_none=True)
    agent_verify_ca = Text(allow_none=True)
    agent_status = Text(allow_none=True)
    agent_status_message = Text(allow_none=True)


class _Open(Schema):
    """A schema that takes what it does not know as it is."""

    class Meta:
        unknown = INCLUDE

    error_messages = {"type": "is not of type 'object'"}


class _Interface(_Open):
    mac_address = Text(required=True)


class _Inventory(_Open):
    interfaces = fields.List(fields.Nested(_Interface), required=True, validate=validate.Length(min=1))
    bmc_address = Text(allow_none=True)
    bmc_v6address = Text(allow_none=True)


class _Inspection(_Open):
    inventory = fields.Nested(_Inventory, required=True)


HEARTBEAT = _Heartbeat()
INSPECTION = _Inspection()
