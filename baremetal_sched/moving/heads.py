"""The schemas of the originals that are known, by the heads of their migrations; and versions of Ironic's rows."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import func, select

from baremetal_sched.errors import InvalidValue
from baremetal_sched.moving.source_databases import SourceDatabase

#: Head of the migrations: the releases that have it.
IRONIC_HEADS: Mapping[str, str] = {
    "2a3b4c5d6e7f": "35",
    "e2d316b60d9e": "36 and 37",
    "16990309ad9d": "38",
    "9fb44677ef15": "39",
}
PLACEMENT_HEADS: Mapping[str, str] = {"a082b8bb98d0": "14 to 16"}

#: Versions of Ironic's rows, by table: the same in all of these releases, except for what ``_NEWER`` says.
_VERSIONS: Mapping[str, str] = {
    "allocations": "1.3",
    "bios_settings": "1.2",
    "chassis": "1.4",
    "deploy_templates": "1.2",
    "firmware_information": "1.1",
    "inspection_rules": "1.1",
    "node_history": "1.1",
    "node_inventory": "1.1",
    "nodes": "1.44",
    "portgroups": "1.9",
    "ports": "1.16",
    "runbooks": "1.1",
    "volume_connectors": "1.1",
    "volume_targets": "1.1",
}
_NEWER: Mapping[str, Mapping[str, str]] = {
    "e2d316b60d9e": {"runbooks": "1.2"},
    "16990309ad9d": {"runbooks": "1.2", "node_history": "1.2"},
    "9fb44677ef15": {"runbooks": "1.2", "node_history": "1.3", "firmware_information": "1.2"},
}


@dataclass(frozen=True)
class SourceRelease:
    """The schema of an original: its head, and the releases that have it."""

    head: str
    releases: str


def recognize(source: SourceDatabase, known: Mapping[str, str]) -> SourceRelease:
    """Return the release of ``source``. Raises InvalidValue, with the list of ``known`` heads, for any other."""
    found = (
        source.scalars(select(source.table("alembic_version").c.version_num))
        if "alembic_version" in source.tables
        else []
    )
    if len(found) != 1 or found[0] not in known:
        heads = ", ".join(f"{head} ({source.name} {releases})" for head, releases in known.items())
        raise InvalidValue(
            message=f"The schema of the database of {source.name} is not known: its head is "
            f"{', '.join(found) or 'missing'}. Known ones are {heads}. Upgrade {source.name} to one of these, with its "
            "online migrations, or check the URL."
        )
    return SourceRelease(found[0], known[found[0]])


def old_rows(source: SourceDatabase, release: SourceRelease) -> list[str]:
    """Return, in words, the rows of Ironic that are not of its release: it is pinned, or has not finished its online
    migrations."""
    expected = {**_VERSIONS, **_NEWER.get(release.head, {})}
    found = []
    for name, version in expected.items():
        table = source.table(name)
        for other, number in source.select(select(table.c.version, func.count()).group_by(table.c.version)):
            if other != version:
                found.append(f"{number} of {name} are of version {other or 'none'}, not {version}")
    return found
