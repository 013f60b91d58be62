"""An operation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.service import ADMINISTRATOR, LATEST, Service

#: The header with the microversion, and the one that operations use unless they say another.
_HEADERS = {
    "baremetal": ("X-OpenStack-Ironic-API-Version", "{}", LATEST),
    "placement": ("OpenStack-API-Version", "placement {}", "1.39"),
    "compute": ("OpenStack-API-Version", "compute {}", "2.100"),
    "image": ("X-Unused", "{}", ""),
    "scheduling": ("X-Unused", "{}", ""),
}
_TYPE = "Content-Type"


@dataclass(frozen=True)
class Operation:
    """A request. ``{name}`` in path and body is what a state has under this name (``states.NAMES`` and facts).

    ``is_hot``: it is about who has a machine, or deletes what others rely on, and is drawn more often.
    """

    name: str
    api: str
    method: str
    path: str
    body: Any = None
    version: str | None = None
    is_hot: bool = False
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def minor_version(self) -> int:
        """Return the minor part of the microversion."""
        _, _, latest = _HEADERS[self.api]
        return int((self.version or latest).partition(".")[2] or 0)

    @property
    def deletes_allocation(self) -> bool:
        """Return whether it deletes an allocation."""
        return (self.api, self.method) == ("baremetal", "DELETE") and "/allocation" in self.path

    def act(self, service: Service, facts: Mapping[str, Any]) -> int:
        """Make the request; return its status."""
        header, form, latest = _HEADERS[self.api]
        headers = {header: form.format(self.version or latest), **ADMINISTRATOR, **self.headers}
        url = f"/{self.api}{filled(self.path, facts)}"
        body = filled(self.body, facts)
        if isinstance(body, bytes):
            method = getattr(service.http, self.method.lower())
            response = method(url, body, headers={**headers, _TYPE: self.media_type}, status="*")
        elif body is None:
            response = getattr(service.http, self.method.lower())(url, headers=headers, status="*")
        else:
            method = getattr(service.http, f"{self.method.lower()}_json")
            response = method(url, body, headers={**headers, _TYPE: self.media_type}, status="*")
        return int(response.status_code)


def filled(part: Any, facts: Mapping[str, Any]) -> Any:
    """Return ``part`` of a request with the facts of a state in it."""
    if isinstance(part, dict):
        return {filled(name, facts): filled(value, facts) for name, value in part.items()}
    if isinstance(part, list):
        return [filled(each, facts) for each in part]
    if not isinstance(part, str) or "{" not in part:
        return part
    if part.startswith("{") and part.endswith("}") and part.count("{") == 1:
        return facts[part[1:-1]]
    return part.format_map(facts)
