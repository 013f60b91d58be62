"""The caller of a request."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

#: The caller of a request that the service makes to itself, by this key of its WSGI environment, which no header sets.
CALLER = "baremetal_sched.caller"


@dataclass(frozen=True)
class Caller:
    """The user with project and roles; ``system_scope`` is "all" for a request in system scope.

    ``service_*`` describe a service that calls on behalf of the user (a second token). ``unrestricted``: may do
    everything.
    """

    user_id: str | None = None
    project_id: str | None = None
    roles: tuple[str, ...] = ()
    system_scope: str | None = None
    unrestricted: bool = field(default=False, kw_only=True)
    user_name: str | None = field(default=None, kw_only=True)
    user_domain_id: str | None = field(default=None, kw_only=True)
    project_name: str | None = field(default=None, kw_only=True)
    project_domain_id: str | None = field(default=None, kw_only=True)
    domain_id: str | None = field(default=None, kw_only=True)
    is_admin_project: bool = field(default=True, kw_only=True)
    #: The caller is unknown, as the route is public.
    is_public_api: bool = field(default=False, kw_only=True)
    service_user_id: str | None = field(default=None, kw_only=True)
    service_project_id: str | None = field(default=None, kw_only=True)
    service_project_name: str | None = field(default=None, kw_only=True)
    service_roles: tuple[str, ...] = field(default=(), kw_only=True)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # Policy decisions are cached by caller, and looked up several times in a request.
        return hash((self.user_id, self.project_id, self.roles, self.system_scope, self.service_user_id))

    def credentials(self) -> dict[str, Any]:
        """Return the credentials for oslo.policy, under the names that it and OpenStack's rules use."""
        return {
            "user_id": self.user_id,
            "user_name": self.user_name,
            "user_domain_id": self.user_domain_id,
            "project_id": self.project_id,
            "project_name": self.project_name,
            "project_domain_id": self.project_domain_id,
            "domain_id": self.domain_id,
            "is_admin_project": self.is_admin_project,
            "is_public_api": self.is_public_api,
            "roles": list(self.roles),
            "system": self.system_scope,
            "system_scope": self.system_scope,
            "service_user_id": self.service_user_id,
            "service_project_id": self.service_project_id,
            "service_project_name": self.service_project_name,
            "service_roles": list(self.service_roles),
        }
