"""Checks before an upgrade: flavors without custom resource classes, and rows that belong to no project."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from baremetal_sched import commands
from baremetal_sched.compute.migration import flavor_migration
from baremetal_sched.compute.migration.flavor_migration import MigrationVerdict, ServerSelection
from baremetal_sched.db.models import Consumer, Image, Node, NodeAllocation, Server
from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import Settings


class Result(IntEnum):
    """How a check came out; the values are exit codes."""

    SUCCESS = 0
    WARNING = 1
    FAILURE = 2


@dataclass(frozen=True)
class UpgradeCheck:
    """A check, its result, and the remedy."""

    name: str
    result: Result
    details: str = ""


_OLD = {
    MigrationVerdict.OLD: "{count} of {all} are not migrated. Run: " + commands.MIGRATE_FLAVORS,
    MigrationVerdict.NO_CLASS: "{count} of {all} are on nodes without a resource class. Set it, then migrate.",
    MigrationVerdict.SEVERAL: "{count} of {all} share their node with another server. Delete the one "
    f"that is not there. This names them: {commands.MIGRATE_FLAVORS}",
}


def run(database: Database, settings: Settings) -> list[UpgradeCheck]:
    """Return the results of the checks. Raises what the database raises."""
    return [_check_servers(database, settings), database.read(_check_nodes)]


def _check_servers(database: Database, settings: Settings) -> UpgradeCheck:
    found = Counter(finding.verdict for finding in flavor_migration.survey(database, settings, ServerSelection()))
    wrong = [text.format(count=found[verdict], all=found.total()) for verdict, text in _OLD.items() if found[verdict]]
    return UpgradeCheck("Servers", Result.FAILURE if wrong else Result.SUCCESS, " ".join(wrong))


def _check_nodes(session: Session) -> UpgradeCheck:
    """SELECT count(*) FROM nodes WHERE instance_uuid IS NULL AND (resource_class IS NULL OR resource_class = '')"""
    classless = or_(Node.resource_class.is_(None), Node.resource_class == "")
    count = session.scalar(select(func.count(Node.id)).where(Node.instance_uuid.is_(None), classless)) or 0
    if not count:
        return UpgradeCheck("Nodes", Result.SUCCESS)
    nodes = "1 free node has" if count == 1 else f"{count} free nodes have"
    return UpgradeCheck("Nodes", Result.WARNING, f"{nodes} no resource class: no flavor that asks for one gets them.")


def count_unowned(session: Session, settings: Settings) -> dict[str, int]:
    """Return how many nodes have no owner, and how many other rows no project, or one that the settings gave them."""
    fixed = settings.compute.project_id
    incomplete = settings.placement.incomplete_consumer_project_id
    return {
        "nodes": _rows(session, Node, [Node.owner.is_(None)]),
        "allocations": _rows(session, NodeAllocation, [NodeAllocation.owner.is_(None)]),
        "servers": _rows(session, Server, [Server.project_id == fixed]),
        "images": _rows(session, Image, [Image.owner.is_(None), Image.owner == fixed]),
        "consumers": _rows(session, Consumer, [Consumer.project_id.in_((fixed, incomplete))]),
    }


def _rows(session: Session, model: type, conditions: Iterable[ColumnElement[bool]]) -> int:
    """SELECT count(*) FROM (the model's table) WHERE (one of the conditions)"""
    return session.scalar(select(func.count()).select_from(model).where(or_(*conditions))) or 0
