# tier: first
"""The permissions of each role in each API: the table of the guide for tenants."""

from pathlib import Path
from typing import Any

import pytest

from baremetal_sched.web.authentication import password_file
from tests.functional.tenants.cloud import Cloud
from tests.service import Service

pytestmark = [pytest.mark.sqlite_only, pytest.mark.shows_secrets]

#: Statuses by user: admin, member and reader of the system; admin, manager, member, reader and service of a project.
ROLES = {
    "a": "{roles: [admin], system_scope: all}",
    "b": "{roles: [member], system_scope: all}",
    "c": "{roles: [reader], system_scope: all}",
    "d": "{roles: [admin], project_id: blue}",
    "e": "{roles: [manager], project_id: blue}",
    "f": "{roles: [member], project_id: blue}",
    "g": "{roles: [reader], project_id: blue}",
    "h": "{roles: [service], project_id: blue}",
}
FLAVOR = {"flavor": {"name": "x", "ram": 1, "vcpus": 1, "disk": 1}}
TABLE: list[tuple[str, str, Any, str]] = [
    ("GET", "/baremetal/v1/nodes", None, "abcdefgh"),
    ("POST", "/baremetal/v1/nodes", {"driver": "fake-hardware"}, "adh"),
    ("GET", "/compute/v2.1/flavors", None, "abcdefgh"),
    ("POST", "/compute/v2.1/flavors", FLAVOR, "ad"),
    ("GET", "/compute/v2.1/servers", None, "adefg"),
    ("GET", "/compute/v2.1/servers?all_tenants=1", None, "ad"),
    ("POST", "/compute/v2.1/servers", {}, "adef"),
    ("GET", "/image/v2/images", None, "adefg"),
    ("POST", "/image/v2/images", {"name": "i"}, "adef"),
    ("POST", "/image/v2/images", {"name": "i", "visibility": "public"}, "ad"),
    ("GET", "/placement/resource_providers", None, "adh"),
    ("GET", "/placement/usages?project_id=blue", None, "adefgh"),
    ("GET", "/placement/usages?project_id=green", None, "adh"),
    ("GET", "/scheduling/v1/capacity", None, "abcdefgh"),
    ("GET", "/scheduling/v1/holds", None, "abcdefgh"),
    ("POST", "/scheduling/v1/holds", {"type": "window", "filter": {"driver": "none"}}, "ab"),
    ("POST", "/scheduling/v1/claims", {"query": "resources=VCPU:1", "consumer": {"project_id": "blue"}}, "adefh"),
    ("POST", "/scheduling/v1/claims", {"query": "resources=VCPU:1", "consumer": {"project_id": "green"}}, "ah"),
]


def test_the_table_of_roles(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The requests that each role is refused, and allowed."""
    monkeypatch.setattr(password_file, "COST", 4)
    users, roles = tmp_path / "users", tmp_path / "roles"
    users.write_text("".join(f"{name}:{password_file.hash_password(name)}\n" for name in ROLES))
    roles.write_text("".join(f"{name}: {given}\n" for name, given in ROLES.items()))
    files = {"http_basic_auth_user_file": str(users), "http_basic_auth_roles_file": str(roles)}
    with Service(database_url, api={"auth_strategy": "http_basic"}, DEFAULT=files) as service:
        service.add_conductor("c1")
        cloud = Cloud(service, {name: name for name in ROLES})
        for method, path, body, allowed in TABLE:
            statuses = {name: cloud.status(name, method, path, body) for name in ROLES}
            assert "".join(name for name, status in statuses.items() if status != 403) == allowed, (path, statuses)
