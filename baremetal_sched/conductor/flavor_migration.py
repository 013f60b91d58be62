"""Migration of servers from before custom resource classes, in the background after a conductor's start."""

import threading

import structlog

from baremetal_sched.compute.flavor_migration import Selection, Verdict, migrate
from baremetal_sched.conductor.host import Host

log = structlog.get_logger(__name__)


def migrate_own(host: Host, stop: threading.Event) -> None:
    """Migrate the servers on this conductor's nodes, one by one, until ``stop`` is set.

    Raises what the database raises; the next call continues where it stopped.
    """
    for finding in migrate(host.database, host.settings, Selection(host=host.name), stop.is_set):
        about = {"conductor": host.name, "node": finding.node, "server": finding.instance}
        if finding.verdict is Verdict.MIGRATED:
            log.info("migrated a server", changes=finding.message, **about)
        elif finding.verdict is not Verdict.DONE:
            log.warning("cannot migrate a server", reason=finding.message, **about)
