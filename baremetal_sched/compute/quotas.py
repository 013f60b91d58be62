"""Quotas: there are none. Usage is counted all the same."""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import Server, table_of
from baremetal_sched.db.types import as_text

#: The limit that means "unlimited".
UNLIMITED = -1


@dataclass(frozen=True)
class Quota:
    """A resource that Nova limits. ``until`` is the minor part of the last microversion that has it."""

    name: str
    until: int | None = None

    def is_known(self, version: int) -> bool:
        """Return whether the microversion has it."""
        return self.until is None or version <= self.until


#: What networks had was dropped with 2.36, what injected files had with 2.57.
QUOTAS = (
    Quota("cores"),
    Quota("fixed_ips", 35),
    Quota("floating_ips", 35),
    Quota("injected_file_content_bytes", 56),
    Quota("injected_file_path_bytes", 56),
    Quota("injected_files", 56),
    Quota("instances"),
    Quota("key_pairs"),
    Quota("metadata_items"),
    Quota("ram"),
    Quota("security_group_rules", 35),
    Quota("security_groups", 35),
    Quota("server_group_members"),
    Quota("server_groups"),
)


def known(version: int) -> list[str]:
    """Return the names of the quotas that a microversion has."""
    return [quota.name for quota in QUOTAS if quota.is_known(version)]


def used(session: Session, project_id: str) -> Mapping[str, int]:
    """Return how much of each quota a project uses: ``instances``, ``cores`` and ``ram`` (MiB)."""
    # SELECT flavor, count(*) FROM servers WHERE project_id = … GROUP BY flavor: many servers have the same copy.
    flavor = as_text(table_of(Server).c.flavor)
    rows = session.execute(select(flavor, func.count()).where(Server.project_id == project_id).group_by(flavor))
    flavors = [(orjson.loads(text), count) for text, count in rows]
    return {
        "instances": sum(count for _, count in flavors),
        "cores": sum(each["vcpus"] * count for each, count in flavors),
        "ram": sum(each["ram"] * count for each, count in flavors),
    }
