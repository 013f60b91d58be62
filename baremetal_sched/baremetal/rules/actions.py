"""The actions. Each changes the subject of the inspection; nothing is stored here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from baremetal_sched.baremetal.identifiers import is_trait
from baremetal_sched.baremetal.rules import values
from baremetal_sched.baremetal.rules.signatures import RuleFailed, Signature

log = structlog.get_logger(__name__)

_LOG_LEVELS = ("debug", "info", "warning", "error", "critical")


@dataclass(frozen=True)
class ApiCall:
    """A GET that a rule asks for: made by the conductor, when what the rules changed is stored."""

    url: str
    headers: Mapping[str, str] | None = None
    proxies: Mapping[str, str] | None = None
    timeout: float = 5
    retries: int = 3
    backoff_factor: float = 0.3


@dataclass
class Subject:
    """What rules are about: a node's document (``read_only`` has the fields that rules see but do not set), its traits,
    its ports by UUID, and what the inspection found."""

    node: dict[str, Any]
    traits: list[str]
    inventory: dict[str, Any]
    plugin_data: dict[str, Any]
    ports: dict[str, dict[str, Any]] = field(default_factory=dict)
    read_only: Mapping[str, Any] = field(default_factory=dict)
    calls: list[ApiCall] = field(default_factory=list)

    def port(self, port_id: str) -> dict[str, Any]:
        """The document of one of its ports. Raises RuleFailed."""
        if port_id not in self.ports:
            raise RuleFailed(message=f"Port {port_id} could not be found.")
        return self.ports[port_id]


@dataclass(frozen=True)
class Action(Signature):
    """An action: its arguments, and what it does to the subject."""

    do: Callable[..., None]


def _fail(subject: Subject, msg: Any) -> None:
    raise RuleFailed(message=f"Failed to inspect hardware. Reason: {msg}")


def _log(subject: Subject, msg: Any, level: Any = "info") -> None:
    if str(level).lower() not in _LOG_LEVELS:
        raise RuleFailed(message=f"Invalid log level: {level}. Choose from {', '.join(_LOG_LEVELS)}")
    getattr(log, str(level).lower())("inspection rule", node=subject.read_only.get("uuid"), message=msg)


def _set(document: dict[str, Any], path: Any, value: Any) -> None:
    parts = values.split(str(path))
    _require_root(document, parts)
    try:
        values.put(document, parts, value)
    except TypeError as error:
        raise RuleFailed(message=f"Failed to set attribute {path} with value {value}: {error}") from None


def _extend(document: dict[str, Any], path: Any, value: Any, unique: Any = False) -> None:
    parts = values.split(str(path))
    present = values.get(document, parts)
    if present is None:
        present = []
    if not isinstance(present, list):
        raise RuleFailed(message=f"Cannot extend non-list attribute {path} with value {value}")
    if not unique or value not in present:
        _set(document, path, [*present, value])


def _delete(document: dict[str, Any], path: Any) -> None:
    parts = values.split(str(path))
    _require_root(document, parts)
    if len(parts) == 1:
        document[parts[0]] = None
    elif not values.remove(document, parts):
        raise RuleFailed(message=f"Failed to delete attribute at {path}: there is none")


def _require_root(document: dict[str, Any], parts: list[str]) -> None:
    if parts[0] not in document:
        raise RuleFailed(message=f"{parts[0]!r} cannot be set by a rule; these can: {', '.join(sorted(document))}")


def _add_trait(subject: Subject, name: Any) -> None:
    if not isinstance(name, str) or not is_trait(name):
        raise RuleFailed(message=f"Failed to add new trait {name}: it is no trait")
    if name not in subject.traits:
        subject.traits.append(name)


def _remove_trait(subject: Subject, name: Any) -> None:
    if name in subject.traits:
        subject.traits.remove(name)


def _set_capability(subject: Subject, name: Any, value: Any) -> None:
    _put_capabilities(subject, [*_capabilities(subject, name), f"{name}:{value}"])


def _unset_capability(subject: Subject, name: Any) -> None:
    _put_capabilities(subject, _capabilities(subject, name))


def _capabilities(subject: Subject, but: Any) -> list[str]:
    present = str(subject.node["properties"].get("capabilities") or "")
    return [item for item in present.split(",") if item and not item.startswith(f"{but}:")]


def _put_capabilities(subject: Subject, capabilities: list[str]) -> None:
    subject.node["properties"]["capabilities"] = ",".join(capabilities)


def _plugin_path(path: Any) -> list[str]:
    return [str(part) for part in path] if isinstance(path, list) else str(path).split(".")


def _set_plugin_data(subject: Subject, path: Any, value: Any) -> None:
    try:
        values.put(subject.plugin_data, _plugin_path(path), value)
    except TypeError as error:
        raise RuleFailed(message=f"Failed to set plugin data at {path}: {error}") from None


def _extend_plugin_data(subject: Subject, path: Any, value: Any, unique: Any = False) -> None:
    present = values.get(subject.plugin_data, _plugin_path(path)) or []
    if not isinstance(present, list):
        raise RuleFailed(message=f"Failed to extend plugin data at {path}: it is no list")
    if not unique or value not in present:
        _set_plugin_data(subject, path, [*present, value])


def _unset_plugin_data(subject: Subject, path: Any) -> None:
    parts = _plugin_path(path)
    try:
        found = values.remove(subject.plugin_data, parts)
    except TypeError:
        found = False
    if not found:
        log.warning("an inspection rule unsets plugin data that is not there", path=path)
    elif len(parts) > 1 and values.get(subject.plugin_data, parts[:-1]) == {}:
        # What has nothing left in it goes too.
        values.remove(subject.plugin_data, parts[:-1])


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
    except (TypeError, ValueError) as error:
        raise RuleFailed(message=f"Invalid parameter: {error}") from None
    if call.timeout <= 0:
        raise RuleFailed(message="Invalid parameter: timeout must be greater than zero")
    subject.calls.append(call)


ACTIONS: Mapping[str, Action] = {
    "fail": Action(("msg",), (), (), _fail),
    "log": Action(("msg",), ("level",), ("msg",), _log),
    "set-attribute": Action(
        ("path", "value"), (), ("value",), lambda subject, path, value: _set(subject.node, path, value)
    ),
    "extend-attribute": Action(
        ("path", "value"), ("unique",), ("value",), lambda subject, **args: _extend(subject.node, **args)
    ),
    "del-attribute": Action(("path",), (), (), lambda subject, path: _delete(subject.node, path)),
    "set-capability": Action(("name", "value"), (), ("value",), _set_capability),
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
