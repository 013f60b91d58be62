"""Updates of servers between work items on their nodes, and their migration to custom resource classes."""

import threading

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.compute.migration.flavor_migration import MigrationVerdict, ServerSelection, migrate
from baremetal_sched.compute.servers import follow_up
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.conductor.job import Job
from baremetal_sched.db.models import Node
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import SchedulerError
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)


def follow_up_all(host: ConductorHost) -> None:
    """Update the servers on this conductor's nodes."""
    for node_id in host.own(follow_up.IS_PENDING):
        _follow_up(host.database, host.settings, node_id)


def follow_up_job(job: Job) -> None:
    """Update the server on the node of a finished work item at once."""

    def is_pending(session: Session) -> bool:
        query = select(Node.id).where(Node.id == job.node_id, follow_up.IS_PENDING)
        return session.scalar(query) is not None

    if job.has_instance and job.read(is_pending):
        _follow_up(job.database, job.settings, job.node_id)


def _follow_up(database: Database, settings: Settings, node_id: int) -> None:
    def do(session: Session) -> bool:
        return follow_up.follow_up(session, node_id, settings)

    try:
        if database.write(do):
            log.info("went on with a server", node_id=node_id)
    except SchedulerError as error:  # the next round tries again
        log.warning("a server waits", node_id=node_id, reason=str(error))


def migrate_own(host: ConductorHost, stop: threading.Event) -> None:
    """Migrate the servers on this conductor's nodes, one by one, until ``stop`` is set.

    Raises what the database raises; the next call continues where it stopped.
    """
    for finding in migrate(host.database, host.settings, ServerSelection(host=host.name), stop.is_set):
        about = {"conductor": host.name, "node": finding.node, "server": finding.instance}
        if finding.verdict is MigrationVerdict.MIGRATED:
            log.info("migrated a server", changes=finding.message, **about)
        elif finding.verdict is not MigrationVerdict.DONE:
            log.warning("cannot migrate a server", reason=finding.message, **about)
