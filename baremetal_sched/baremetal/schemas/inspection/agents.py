"""What agents on machines say."""

from typing import Any

from marshmallow import INCLUDE, Schema, ValidationError, fields, validate

from baremetal_sched.documents.schema import StrictSchema, Text

#: The largest number of interfaces in a report.
MOST_INTERFACES = 1024


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


class _Interfaces(fields.List):  # type: ignore[type-arg]
    """Some interfaces; they are counted before any of them is looked at."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> list[Any]:
        if isinstance(value, list) and len(value) > MOST_INTERFACES:
            raise ValidationError(f"at most {MOST_INTERFACES} are accepted, and here are {len(value)}")
        interfaces: list[Any] = super()._deserialize(value, attr, data, **kwargs)
        return interfaces


class _Inventory(_Open):
    interfaces = _Interfaces(fields.Nested(_Interface), required=True, validate=validate.Length(min=1))
    bmc_address = Text(allow_none=True)
    bmc_v6address = Text(allow_none=True)


class _Inspection(_Open):
    inventory = fields.Nested(_Inventory, required=True)


HEARTBEAT = _Heartbeat()
INSPECTION = _Inspection()
