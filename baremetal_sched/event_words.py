"""Words for people about what an event says, for pages and commands."""

import json
from typing import Any

#: The parts of an event that name something, and the member with the name.
_PARTS = (
    *(("consumer", "uuid"), ("claim", "uuid"), ("booking", "uuid")),
    *(("hold", "type"), ("allocation", "uuid"), ("end", "at")),
)


def _text(value: Any) -> str:
    return "-" if value is None else json.dumps(value) if isinstance(value, dict | list | bool) else str(value)


def changes(data: dict[str, Any]) -> str:
    """Return what has changed, by the ``data`` of an event: ``provision_state: available -> active, consumer UUID``."""
    words = [
        f"{name}: {_text(each['before'])} -> {_text(each['after'])}" if each else name
        for name, each in data.get("changed", {}).items()
    ]
    words += [f"{part} {_text(data[part][name])}" for part, name in _PARTS if data.get(part)]
    return ", ".join(words)


def area(kind: str) -> str:
    """Return a type without its first word: ``node.provision_set.end``."""
    return kind.partition(".")[2]
