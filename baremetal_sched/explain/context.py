"""What every explanation needs to know of who asks."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors.ownership import Membership, live_members
from baremetal_sched.baremetal.matching.question import Asker
from baremetal_sched.placement.tables import PROVIDERS
from baremetal_sched.settings import Settings

#: The microversion of placement that queries are written for.
VERSION = 39


@dataclass(frozen=True)
class Context:
    """What every explanation needs: ``wanted`` machines for ``asker``, of all or of one ``machine`` (UUID).

    ``unrestricted``: allocations of the asker may get the nodes of anyone.
    """

    session: Session
    settings: Settings
    asker: Asker
    wanted: int = 1
    machine: str | None = None
    unrestricted: bool = False

    def tree(self) -> ColumnElement[bool] | None:
        """Return the condition that a provider of ``PROVIDERS`` is in the tree of the machine; None: any is."""
        if self.machine is None:
            return None
        return PROVIDERS.c.root_id.in_(select(PROVIDERS.c.root_id).where(PROVIDERS.c.uuid == self.machine))

    def membership(self) -> Membership:
        """Return the live conductors."""
        return live_members(self.session, self.settings)
