"""The actions. Each changes the subject of the inspection; nothing is stored here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from baremetal_sched.baremetal.inspection.rules import values
from baremetal_sched.baremetal.inspection.rules.limits import RuleFailed
from baremetal_sched.baremetal.inspection.rules.subject import ApiCall, Subject
from baremetal_sched.baremetal.inspection.rules.values import Signature
from baremetal_sched.baremetal.schemas.traits import complaint, is_trait

log = structlog.get_logger(__name__)

#: A call may keep a conductor busy for a while, but not for ever.
_CALL_LIMITS = (("timeout", 0.1, 60), ("retries", 0, 10), ("backoff_factor", 0, 10))
_LOG_LEVELS = ("debug", "info", "warning", "error", "critical")


@dataclass(frozen=True)
class Action(Signature):
    """An action: its arguments, and a function that changes the subject."""

    do: Callable[..., None]


def _fail(subject: Subject, msg: Any) -> None:
    raise RuleFailed(message=f"Failed to inspect hardware. Reason: {msg}")


def _log(subject: Subject, msg: Any, level: Any = "info") -> None:
    if str(level).lower() not in _LOG_LEVELS:
        raise RuleFailed(message=f"Invalid log level: {level}. Choose from {', '.join(_LOG_LEVELS)}")
    getattr(log, str(level).lower())("inspection rule", node=subject.read_only.get("uuid"), message=msg)


def _set(document: dict[str, Any], path: Any, value: Any) -> None:
    segments = values.split(str(path))
    _require_root(document, segments)
    if len(segments) == 1 and isinstance(value, int | float):
        # These fields are texts, or flags, which accept words.
        value = str(value)
    try:
        values.put(document, segments, value)
    except TypeError as error:
        raise RuleFailed(message=f"Failed to set attribute {path}: {error}") from None


def _extend(document: dict[str, Any], path: Any, value: Any, unique: Any = False) -> None:
    segments = values.split(str(path))
    present = values.get(document, segments)
    if present is None:
        present = []
    if not isinstance(present, list):
        raise RuleFailed(message=f"Cannot extend non-list attribute {path}")
    if not unique or value not in present:
        _set(document, path, [*present, value])


def _delete(document: dict[str, Any], path: Any) -> None:
    segments = values.split(str(path))
    _require_root(document, segments)
    if len(segments) == 1:
        document[segments[0]] = None
    elif not values.remove(document, segments):
        raise RuleFailed(message=f"Failed to delete attribute at {path}: it does not exist")


def _require_root(document: dict[str, Any], segments: list[str]) -> None:
    if segments[0] not in document:
        raise RuleFailed(message=f"{segments[0]!r} cannot be set by a rule; these can: {', '.join(sorted(document))}")


def require_trait(name: Any) -> None:
    """Raise RuleFailed unless ``name`` is a trait."""
    if not isinstance(name, str):
        raise RuleFailed(message=f"Failed to add new trait {name}: it is not a string")
    if not is_trait(name):
        raise RuleFailed(message=f"Failed to add new trait: {complaint(name)}")


def _add_trait(subject: Subject, name: Any) -> None:
    require_trait(name)
    if name not in subject.traits:
        subject.traits.append(name)


def _remove_trait(subject: Subject, name: Any) -> None:
    if name in subject.traits:
        subject.traits.remove(name)


def set_capability(subject: Subject, name: Any, value: Any) -> None:
    """Set one of the node's capabilities, replacing its value."""
    _put_capabilities(subject, [*_capabilities(subject, name), f"{name}:{value}"])


def _unset_capability(subject: Subject, name: Any) -> None:
    _put_capabilities(subject, _capabilities(subject, name))


def capabilities_of(properties: dict[str, Any]) -> list[str]:
    """Return the capabilities in a node's ``properties`` as ``name:value``. They may also be an object there."""
    found = values.get(properties, ["capabilities"]) or ""
    if isinstance(found, Mapping):
        return [f"{name}:{value}" for name, value in found.items()]
    return [item for item in str(found).split(",") if item]


def _capabilities(subject: Subject, but: Any) -> list[str]:
    return [item for item in capabilities_of(subject.node["properties"]) if not item.startswith(f"{but}:")]


def _put_capabilities(subject: Subject, capabilities: list[str]) -> None:
    _set(subject.node, "properties/capabilities", ",".join(capabilities))


def _plugin_path(path: Any) -> list[str]:
    segments = [str(segment) for segment in path] if isinstance(path, list) else str(path).split(".")
    if not segments:
        raise RuleFailed(message="A path in the plugin data must have a part.")
    return segments


def _set_plugin_data(subject: Subject, path: Any, value: Any) -> None:
    try:
        values.put(subject.plugin_data, _plugin_path(path), value)
    except TypeError as error:
        raise RuleFailed(message=f"Failed to set plugin data at {path}: {error}") from None


def _extend_plugin_data(subject: Subject, path: Any, value: Any, unique: Any = False) -> None:
    present = values.get(subject.plugin_data, _plugin_path(path)) or []
    if not isinstance(present, list):
        raise RuleFailed(message=f"Failed to extend plugin data at {path}: it is not a list")
    if not unique or value not in present:
        _set_plugin_data(subject, path, [*present, value])


def _unset_plugin_data(subject: Subject, path: Any) -> None:
    segments = _plugin_path(path)
    if not values.remove(subject.plugin_data, segments):
        log.warning("an inspection rule removes plugin data that does not exist", path=path)
    elif len(segments) > 1 and values.get(subject.plugin_data, segments[:-1]) == {}:
        # An object that is empty now is removed, too.
        values.remove(subject.plugin_data, segments[:-1])


def _call(subject: Subject, url: Any, headers: Any = None, proxies: Any = None, **options: Any) -> None:
    try:
        call = ApiCall(
            str(url),
            headers,
            proxies,
            float(options.get("timeout", ApiCall.timeout)),
            int(options.get("retries", ApiCall.retries)),
            float(options.get("backoff_factor", ApiCall.backoff_factor)),
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise RuleFailed(message=f"Invalid parameter: {error}") from None
    if not call.url.startswith(("http://", "https://")):
        raise RuleFailed(message=f"Invalid parameter: {call.url} is not an HTTP URL")
    for name, least, most in _CALL_LIMITS:
        if not least <= getattr(call, name) <= most:
            raise RuleFailed(message=f"Invalid parameter: {name} must be from {least} to {most}")
    for name in ("headers", "proxies"):
        value = getattr(call, name)
        if value is not None and not (isinstance(value, dict) and all(isinstance(v, str) for v in value.values())):
            raise RuleFailed(message=f"Invalid parameter: {name} must be an object with strings")
    subject.calls.append(call)


ACTIONS: Mapping[str, Action] = {
    "fail": Action(("msg",), (), ("msg",), _fail),
    "log": Action(("msg",), ("level",), ("msg",), _log),
    "set-attribute": Action(
        ("path", "value"), (), ("value",), lambda subject, path, value: _set(subject.node, path, value)
    ),
    "extend-attribute": Action(
        ("path", "value"), ("unique",), ("value",), lambda subject, **args: _extend(subject.node, **args)
    ),
    "del-attribute": Action(("path",), (), (), lambda subject, path: _delete(subject.node, path)),
    "set-capability": Action(("name", "value"), (), ("value",), set_capability),
    "unset-capability": Action(("name",), (), (), _unset_capability),
    "add-trait": Action(("name",), (), (), _add_trait),
    "remove-trait": Action(("name",), (), (), _remove_trait),
    "set-plugin-data": Action(("path", "value"), (), ("value",), _set_plugin_data),
    "extend-plugin-data": Action(("path", "value"), ("unique",), ("value",), _extend_plugin_data),
    "unset-plugin-data": Action(("path",), (), (), _unset_plugin_data),
    "set-port-attribute": Action(
        ("port_id", "path", "value"),
        (),
        ("value",),
        lambda subject, port_id, path, value: _set(subject.port(port_id), path, value),
    ),
    "extend-port-attribute": Action(
        ("port_id", "path", "value"),
        ("unique",),
        ("value",),
        lambda subject, port_id, **args: _extend(subject.port(port_id), **args),
    ),
    "del-port-attribute": Action(
        ("port_id", "path"), (), (), lambda subject, port_id, path: _delete(subject.port(port_id), path)
    ),
    "api-call": Action(("url",), ("headers", "proxies", "timeout", "retries", "backoff_factor"), ("url",), _call),
}
