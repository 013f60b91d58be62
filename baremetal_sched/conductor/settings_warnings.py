"""Warnings of a conductor about settings that what is in the database makes risky, or of no use."""

import structlog
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from baremetal_sched import commands
from baremetal_sched.baremetal.domains import naming
from baremetal_sched.db.models import Node
from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Hardware types whose nodes have a password in ``driver_info``.
_WITH_PASSWORDS = ("ipmi", "redfish")


def warn(database: Database, settings: Settings) -> None:
    """Warn if nodes have passwords and no encryption key is configured, and if there is no domain of the level of
    server groups. Raises DatabaseAway."""
    level: str = settings.compute.server_group_level
    known = database.read(lambda session: naming.levels(session)) if level else [level]
    if level not in known:
        log.warning(
            "[compute] server_group_level: there is no domain of this level, so servers of groups with the policies "
            "affinity and anti-affinity find no machine",
            server_group_level=level,
            levels=known,
        )
    if settings.database.secrets_key_file:
        return

    def count(session: Session) -> int:
        # SELECT count(*) FROM nodes WHERE driver IN ('ipmi', 'redfish')
        return session.scalar(select(func.count()).select_from(Node).where(Node.driver.in_(_WITH_PASSWORDS))) or 0

    found = database.read(count)
    if found:
        log.warning(
            "passwords of management controllers are stored as they are: set [database] secrets_key_file, then run "
            + commands.ENCRYPT_SECRETS,
            nodes=found,
        )
