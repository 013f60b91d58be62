"""Bodies of requests about flavors, their extra specs, and access to them."""

import re

from baremetal_sched.compute.schemas.form import BOOLEAN, NAME, PROJECT_ID, Form, closed, whole_number
from baremetal_sched.documents.schema import SchemaDict
from baremetal_sched.errors import InvalidValue

#: The first microversions with a description, and with extra specs in the flavor.
DESCRIPTION_SINCE = 55
EXTRA_SPECS_SINCE = 61
#: From here on no swap is 0, before an empty text.
SWAP_IS_NUMBER_SINCE = 75
#: From here on a public flavor is refused access of projects, which it does not need.
PUBLIC_REFUSED_SINCE = 7
#: From here on lists are filtered by name, and flavors have neither ``rxtx_factor`` nor ``OS-FLV-DISABLED:disabled``.
BY_NAME_SINCE = 102

#: Most characters of an extra spec, without its key.
LONGEST_SPEC = 255

#: The largest number of single precision.
_LARGEST_FACTOR = 3.40282e38

_ID = "[a-zA-Z0-9._-]([a-zA-Z0-9. _-]*[a-zA-Z0-9._-])?"
_ID_TEXT = re.compile(f"(?=.{{1,255}}$){_ID}")

_DESCRIPTION: SchemaDict = {"type": ["string", "null"], "maxLength": 65535, "format": "description"}

_FIELDS: SchemaDict = {
    "name": NAME,
    "id": {
        "type": ["string", "number", "null"],
        "minLength": 1,
        "maxLength": 255,
        "pattern": f"^{_ID}$",
    },
    "ram": whole_number(1),
    "vcpus": whole_number(1),
    "disk": whole_number(0),
    "OS-FLV-EXT-DATA:ephemeral": whole_number(0),
    "swap": whole_number(0),
    "rxtx_factor": {
        "type": ["number", "string"],
        "pattern": r"^[0-9]+(\.[0-9]+)?$",
        "maxLength": 50,
        "exclusiveMinimum": 0,
        "maximum": _LARGEST_FACTOR,
    },
    "os-flavor-access:is_public": BOOLEAN,
}
_REQUIRED = ("name", "ram", "vcpus", "disk")

_CREATE = Form(closed({"flavor": closed(_FIELDS, *_REQUIRED)}, "flavor"))
_CREATE_WITH_DESCRIPTION = Form(
    closed({"flavor": closed({**_FIELDS, "description": _DESCRIPTION}, *_REQUIRED)}, "flavor")
)

_CREATE_WITHOUT_FACTOR = Form(
    closed(
        {
            "flavor": closed(
                {name: field for name, field in _FIELDS.items() if name != "rxtx_factor"}
                | {"description": _DESCRIPTION},
                *_REQUIRED,
            )
        },
        "flavor",
    )
)

UPDATE = Form(closed({"flavor": closed({"description": _DESCRIPTION}, "description")}, "flavor"))

_SPECS: SchemaDict = {
    "type": "object",
    "patternProperties": {"^[a-zA-Z0-9_:. -]{1,255}$": {"type": ["string", "number"], "maxLength": LONGEST_SPEC}},
    "additionalProperties": False,
}
EXTRA_SPECS = Form(closed({"extra_specs": _SPECS}, "extra_specs"))
ONE_EXTRA_SPEC = Form({**_SPECS, "minProperties": 1, "maxProperties": 1})

_TENANT = closed({"tenant": PROJECT_ID}, "tenant")
ACTION = Form(
    {
        **closed({"addTenantAccess": _TENANT, "removeTenantAccess": _TENANT}),
        "minProperties": 1,
        "maxProperties": 1,
    }
)


def create(version: int) -> Form:
    """Return the form of the body that makes a flavor."""
    if version >= BY_NAME_SINCE:
        return _CREATE_WITHOUT_FACTOR
    return _CREATE_WITH_DESCRIPTION if version >= DESCRIPTION_SINCE else _CREATE


def to_id(value: float | str) -> str:
    """Return ``id`` as a text. Raises InvalidValue for a number whose text cannot be an id."""
    text = str(value)
    if not _ID_TEXT.fullmatch(text):
        raise InvalidValue(message=f"Invalid input for field/attribute id. {text[:40]} cannot be the id of a flavor.")
    return text


def to_factor(value: float | str) -> float:
    """Return ``rxtx_factor`` as a number. Raises InvalidValue for digits of one out of range."""
    factor = float(value)
    if not 0 < factor <= _LARGEST_FACTOR:
        raise InvalidValue(
            message=f"Invalid input for field/attribute rxtx_factor. Value: {value}. It must be more than 0."
        )
    return factor
