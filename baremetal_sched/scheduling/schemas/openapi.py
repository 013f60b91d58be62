"""What the OpenAPI document says at its top; below that it is as OpenAPI has it."""

from baremetal_sched.scheduling.schemas.answers import TEXT, array, fields

_OBJECT = {"type": "object"}

DOCUMENT = fields(
    {
        "openapi": TEXT,
        "info": _OBJECT,
        "paths": _OBJECT,
        "components": _OBJECT,
        "servers": array(_OBJECT),
        "security": array(_OBJECT),
    },
    {"security"},
)
