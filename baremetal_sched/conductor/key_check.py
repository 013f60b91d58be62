"""A warning if passwords of management controllers are stored unencrypted."""

import structlog
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import Node
from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Hardware types whose nodes have a password in ``driver_info``.
_WITH_PASSWORDS = ("ipmi", "redfish")


def warn(database: Database, settings: Settings) -> None:
    """Warn if nodes have passwords and no encryption key is configured. Raises DatabaseAway."""
    if settings.database.secrets_key_file:
        return

    def count(session: Session) -> int:
        # SELECT count(*) FROM nodes WHERE driver IN ('ipmi', 'redfish')
        return session.scalar(select(func.count()).select_from(Node).where(Node.driver.in_(_WITH_PASSWORDS))) or 0

    found = database.read(count)
    if found:
        log.warning(
            "passwords of management controllers are stored as they are: set [database] secrets_key_file, then run "
            "baremetal-sched secrets encrypt",
            nodes=found,
        )
