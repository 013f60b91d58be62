"""Bodies of requests for a provision state."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from baremetal_sched.baremetal.schemas.provisioning.runbooks import CLEAN_STEP, DEPLOY_STEP, MOST_STEPS
from baremetal_sched.documents.schema import JsonSchema, decode_base64, excerpt, parse_flag
from baremetal_sched.errors import InvalidValue

if TYPE_CHECKING:
    from jsonschema import ValidationError

#: Every key of the body.
KEYS = (
    *("target", "configdrive", "clean_steps", "deploy_steps", "service_steps"),
    *("rescue_password", "disable_ramdisk", "runbook"),
)

_CLEAN_STEPS = JsonSchema(CLEAN_STEP.json_schema())
_DEPLOY_STEPS = JsonSchema(DEPLOY_STEP.json_schema())

_CONFIGDRIVE = JsonSchema(
    {
        "type": "object",
        "properties": {
            "meta_data": {"type": "object"},
            "network_data": {"type": "object"},
            "user_data": {"type": ["object", "array", "string", "null"]},
            "vendor_data": {"type": "object"},
        },
        "additionalProperties": False,
    }
)


def check_types(body: Mapping[str, Any]) -> None:
    """Raise InvalidValue unless there is a target, and all members are of the right type."""
    if "target" not in body:
        raise InvalidValue(message="Missing mandatory parameter: target")
    for name in ("target", "rescue_password", "runbook"):
        if not isinstance(body.get(name), str | None):
            raise InvalidValue(message=f"Expected string for {name}: {excerpt(body[name])}")
    if not isinstance(body.get("configdrive"), str | dict | None):
        raise InvalidValue(
            message=f"Expected types null, object, string for configdrive: {excerpt(body['configdrive'])}"
        )
    if body.get("disable_ramdisk") is not None:
        parse_flag("disable_ramdisk", body["disable_ramdisk"])


def check_steps(name: str, steps: Any) -> None:
    """Raise InvalidValue unless ``steps`` are valid. ``name`` is clean_steps, deploy_steps or service_steps."""
    if isinstance(steps, list) and len(steps) > MOST_STEPS:
        raise InvalidValue(message=f"Invalid {name}: {len(steps)} steps are too many: {MOST_STEPS} are allowed")
    error = (_DEPLOY_STEPS if name == "deploy_steps" else _CLEAN_STEPS).error(steps)
    if error is not None:
        raise InvalidValue(message=f"Invalid {name}{_complaint(error)}")


def check_configdrive(configdrive: str | Mapping[str, Any]) -> None:
    """Raise InvalidValue unless it is a URL, base64, or an object with the parts of a config drive."""
    if isinstance(configdrive, str):
        if not configdrive.startswith(("http://", "https://")) and not _is_base64(configdrive):
            raise InvalidValue(
                message="Invalid configdrive format: it is neither a JSON, nor a URL, nor a base64 string"
            )
        return
    error = _CONFIGDRIVE.error(configdrive)
    if error is not None:
        raise InvalidValue(message=f"Invalid configdrive format{_complaint(error)}")


def _complaint(error: "ValidationError") -> str:
    """The place and the kind of the mistake, without the value, which may be large and secret."""
    place = "".join(f"/{part}" for part in error.absolute_path)
    instance = excerpt(error.instance)
    return f"{f' at {place}' if place else ''}: {error.message.replace(repr(error.instance), instance, 1)}"


def _is_base64(text: str) -> bool:
    try:
        decode_base64(text)
    except ValueError:
        return False
    return True
