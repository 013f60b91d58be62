"""Bodies of requests about runbooks."""

from typing import Any

from marshmallow import ValidationError, fields

from baremetal_sched.baremetal.identifiers import is_logical_name
from baremetal_sched.baremetal.schemas.nodes.traits import TraitName
from baremetal_sched.baremetal.schemas.provisioning.steps import RUNBOOK_STEP, Steps
from baremetal_sched.documents.schema import Flag, JsonObject, StrictSchema, Text, Uuid


class _Name(Text):
    """A name that can stand in a path."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        name = super()._deserialize(value, attr, data, **kwargs)
        if not is_logical_name(name):
            raise ValidationError(
                f"{name!r} does not match '^[A-Za-z0-9\\-._~]+$', has more than 255 characters or is a UUID"
            )
        return name


class _Runbook1x92(StrictSchema):
    """Before 1.112: the name is a trait, and there is no description."""

    name: fields.Field[str] = TraitName(required=True)
    steps = Steps(RUNBOOK_STEP, "runbook", "runbook", required=True)
    disable_ramdisk = Flag(allow_none=True)
    extra = JsonObject()
    public = Flag(allow_none=True)
    owner = Text(longest=255, allow_none=True)


class _RunbookUpdate(_Runbook1x92):
    name = _Name(required=True)
    description = Text(longest=255, allow_none=True)


class _RunbookCreate1x92(_Runbook1x92):
    uuid = Uuid(allow_none=True)


class _RunbookCreate(_RunbookUpdate):
    uuid = Uuid(allow_none=True)


RUNBOOK_CREATE = _RunbookCreate()
RUNBOOK_CREATE_1_92 = _RunbookCreate1x92()
RUNBOOK_UPDATE = _RunbookUpdate()
