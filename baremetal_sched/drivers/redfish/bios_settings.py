"""BIOS settings as a controller represents them: their values, their possible values, and requested changes."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from baremetal_sched.drivers.redfish import tasks
from baremetal_sched.drivers.redfish.documents import Document, Documents, link, links, member, objects, text
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import BiosValue

Scalar = str | int | float | bool | None

#: Names as the standard has them; databases do not keep two names that differ only in case.
_NAME = re.compile(r"[!-~]{1,255}")
_LONGEST_VALUE = 4096
_MOST_SETTINGS, _MOST_VALUES, _MOST_REGISTRIES = 5000, 500, 8
_TRUE, _FALSE = "true", "false"
_SETTINGS = "@Redfish.Settings"


@dataclass(frozen=True)
class Bios:
    """The BIOS of a machine: the ``path`` of the resource, and its current ``attributes``."""

    path: str
    attributes: Mapping[str, Any]
    document: Document

    @property
    def settings_path(self) -> str | None:
        """Return the path to which changes are sent, if there is one."""
        return link(self.document, _SETTINGS, "SettingsObject")

    @property
    def etag(self) -> str | None:
        """Return the version of the settings, which a change must name."""
        return text(member(self.document, _SETTINGS, "ETag"))

    @property
    def apply_time(self) -> str | None:
        """Return when changes will be applied; None if the controller offers no time that is known here."""
        offered = member(self.document, _SETTINGS, "SupportedApplyTimes")
        return next((time for time in ("OnReset", "Immediate") if isinstance(offered, list) and time in offered), None)

    @property
    def applied(self) -> str | None:
        """Return when settings were last applied, in the controller's words."""
        return text(member(self.document, _SETTINGS, "Time"))

    @property
    def complaints(self) -> str:
        """Return the controller's errors and warnings when settings were last applied; empty if there were none."""
        said = objects(member(self.document, _SETTINGS, "Messages"))
        bad = [
            each for each in said if (each.get("Severity") or each.get("MessageSeverity")) in ("Critical", "Warning")
        ]
        return "; ".join(tasks.said_in(bad))


def find(documents: Documents) -> Bios | None:
    """Return the BIOS of the machine; None if the controller does not have it. Raises sushy's errors."""
    path = link(documents.of_system, "Bios")
    document = documents.find(path)
    if path is None or document is None:
        return None
    found = document.get("Attributes")
    return Bios(path, _sound(found) if isinstance(found, dict) else {}, document)


def pending(documents: Documents, bios: Bios) -> Mapping[str, Any]:
    """Return the pending settings: only the changes, or all settings as they will be, depending on the controller."""
    found = member(documents.find(bios.settings_path), "Attributes")
    return _sound(found) if isinstance(found, dict) else {}


def described(documents: Documents, bios: Bios) -> dict[str, Document]:
    """Return the entries of the controller's attribute registry by the names of settings; empty without a registry.

    Raises sushy's errors.
    """
    name = text(bios.document.get("AttributeRegistry"))
    if name is None:
        return {}
    root = documents.find(documents.root)
    paths = links(documents.find(link(root, "Registries")), "Members")
    for path in [path for path in paths if _may_be(path, name)][:_MOST_REGISTRIES]:
        file = documents.find(path)
        for location in _in_english(objects(member(file, "Location"))):
            registry = documents.find(location)
            known_as = (member(file, "Registry"), member(file, "Id"), member(registry, "Id"))
            if any(_is_same(each, name) for each in known_as):
                entries = objects(member(registry, "RegistryEntries", "Attributes"))[:_MOST_SETTINGS]
                return {str(each.get("AttributeName")): each for each in entries}
    return {}


def as_kept(bios: Bios, registry: Mapping[str, Document]) -> dict[str, BiosValue]:
    """Return the settings as a node stores them."""
    return {name: _kept(value, registry.get(name) or {}) for name, value in bios.attributes.items()}


def requested_values(settings: Any) -> dict[str, Scalar]:
    """Return the requested values by the names of their settings. Raises InvalidValue."""
    values: dict[str, Scalar] = {}
    for setting in settings if isinstance(settings, list) else [settings]:
        name = setting.get("name") if isinstance(setting, dict) else None
        value = setting.get("value") if isinstance(setting, dict) else None
        is_known = isinstance(setting, dict) and "value" in setting
        if not isinstance(name, str) or not _NAME.fullmatch(name) or not is_known or not _is_scalar(value):
            raise InvalidValue(
                message="settings must be a list of objects with a name, a text of up to 255 characters, and a "
                "value, which is a text, a number, true, false or null."
            )
        if values.setdefault(name, value) != value:
            raise InvalidValue(message=f"settings has two values for {name}.")
    if not values or len(values) > _MOST_SETTINGS:
        raise InvalidValue(message=f"settings must name from 1 to {_MOST_SETTINGS} BIOS settings.")
    return values


def as_attributes(values: Mapping[str, Scalar], bios: Bios, registry: Mapping[str, Document]) -> dict[str, Scalar]:
    """Return the requested values as the controller expects them: numbers and booleans instead of texts.

    Raises InvalidValue, which names all settings that cannot be set so, and says why.
    """
    attributes: dict[str, Scalar] = {}
    wrong = []
    for name, value in values.items():
        entry = registry.get(name) or {}
        kind = entry.get("Type") or _kind_of(bios.attributes.get(name))
        converted = _converted(value, str(kind))
        problem = _problem(converted, str(kind), entry)
        if name not in bios.attributes and name not in registry:
            problem = "the BIOS has no such setting"
        if problem is not None:
            wrong.append(f"{name} ({problem})")
        attributes[name] = _in_its_way(converted, value, bios.attributes.get(name))
    if wrong:
        raise InvalidValue(message=f"BIOS settings that cannot be set: {', '.join(wrong[:20])}.")
    return attributes


def _sound(attributes: dict[Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    seen: set[str] = set()
    for name, value in attributes.items():
        if isinstance(name, str) and _NAME.fullmatch(name) and name.lower() not in seen and len(seen) < _MOST_SETTINGS:
            seen.add(name.lower())
            found[name] = value
    return found


def _may_be(path: str, name: str) -> bool:
    """Return whether the registry at this path may have that name. Controllers have a dozen others, of messages."""
    lowered = path.lower()
    return "attribute" in lowered or "bios" in lowered or name.partition(".")[0].lower() in lowered


def _is_same(known_as: Any, name: str) -> bool:
    """Return whether both names are equal without the version at their end."""
    return isinstance(known_as, str) and known_as.partition(".")[0] == name.partition(".")[0]


def _in_english(locations: list[dict[str, Any]]) -> list[str]:
    """Return the paths of English registries; of all registries if none is English."""
    chosen = [each for each in locations if str(each.get("Language") or "en").lower().startswith("en")]
    paths = (link({"at": {"@odata.id": each.get("Uri")}}, "at") for each in chosen or locations)
    return [path for path in paths if path is not None]


def _kept(value: Any, entry: Document) -> BiosValue:
    names = [text(each.get("ValueName")) or text(each.get("ValueDisplayName")) for each in objects(entry.get("Value"))]
    allowed = [name for name in names if name is not None][:_MOST_VALUES]
    return BiosValue(
        value=_as_text(value),
        attribute_type=text(entry.get("Type")),
        allowable_values=allowed if "Value" in entry else None,
        lower_bound=_bound(entry.get("LowerBound"), 2**62),
        upper_bound=_bound(entry.get("UpperBound"), 2**62),
        min_length=_bound(entry.get("MinLength"), 2**31 - 1),
        max_length=_bound(entry.get("MaxLength"), 2**31 - 1),
        read_only=_flag(entry.get("ReadOnly")),
        reset_required=_flag(entry.get("ResetRequired")),
        unique=_flag(entry.get("IsSystemUniqueProperty")),
    )


def _as_text(value: Any) -> str | None:
    if value is None:
        return None
    said = value if isinstance(value, str) else str(value) if _is_scalar(value) else json.dumps(value)
    return "".join(letter for letter in said[:_LONGEST_VALUE] if letter.isprintable())


def _bound(value: Any, most: int) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and -most <= value <= most else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _is_scalar(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, bool | int | float)
        or (isinstance(value, str) and len(value) <= _LONGEST_VALUE)
    )


def _kind_of(value: Any) -> str:
    """Return the type of a setting from its value, if the registry does not describe it."""
    if isinstance(value, bool):
        return "Boolean"
    return "Integer" if isinstance(value, int) else "String"


def _converted(value: Scalar, kind: str) -> Scalar:
    if kind == "Boolean" and isinstance(value, str) and value.lower() in (_TRUE, _FALSE):
        return value.lower() == _TRUE
    if kind == "Integer" and isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", value):
        return int(value)
    return value


def _in_its_way(converted: Scalar, value: Scalar, current: Any) -> Scalar:
    """Return the value as text if the controller shows text although its registry describes a number or boolean."""
    if not isinstance(current, str) or not current or isinstance(converted, str) or converted is None:
        return converted
    return value if isinstance(value, str) else json.dumps(converted)


def _problem(value: Scalar, kind: str, entry: Document) -> str | None:
    """Return why a setting cannot have this value, if the registry says so."""
    if entry.get("ReadOnly") is True:
        return "it is read-only"
    if kind == "Boolean" and not isinstance(value, bool):
        return "it must be true or false"
    if kind == "Integer":
        return _problem_of_number(value, entry)
    if kind == "Enumeration":
        allowed = _kept(None, entry).allowable_values
        return None if not allowed or value in allowed else f"it must be one of {', '.join(allowed[:20])}"
    least, most = _bound(entry.get("MinLength"), 2**31), _bound(entry.get("MaxLength"), 2**31)
    if isinstance(value, str) and not (least or 0) <= len(value) <= (_LONGEST_VALUE if most is None else most):
        return f"it must have from {least or 0} to {_LONGEST_VALUE if most is None else most} characters"
    return None


def _problem_of_number(value: Scalar, entry: Document) -> str | None:
    least, most = _bound(entry.get("LowerBound"), 2**62), _bound(entry.get("UpperBound"), 2**62)
    if not isinstance(value, int) or isinstance(value, bool):
        return "it must be a whole number"
    if (least is not None and value < least) or (most is not None and value > most):
        return f"it must be from {'any' if least is None else least} to {'any' if most is None else most}"
    return None
