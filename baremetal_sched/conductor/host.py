"""A conductor's host name, database and settings, and the nodes that it owns."""

from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors.ownership import Membership, live_members
from baremetal_sched.conductor.back_off import BackOff
from baremetal_sched.conductor.questions import Questions
from baremetal_sched.db.models import Node
from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import Settings


@dataclass(frozen=True)
class Host:
    """A conductor's host name, database and settings, with its open queries and unresponsive addresses."""

    name: str
    database: Database
    settings: Settings
    questions: Questions = field(default_factory=Questions, compare=False)
    back_off: BackOff = field(default_factory=BackOff, compare=False)

    def membership(self) -> Membership:
        """Return the conductors that are alive now."""
        return self.database.read(lambda session: live_members(session, self.settings))

    def own(self, condition: ColumnElement[bool]) -> list[int]:
        """Return the ids of the nodes that the ring assigns to this conductor and that meet ``condition``, in order."""
        return self.database.read(lambda session: self.select_own(session, condition))

    def select_own(self, session: Session, condition: ColumnElement[bool]) -> list[int]:
        """Return the same, within an existing transaction."""
        # SELECT … FROM nodes WHERE (condition) AND (a group and driver that it serves)
        membership = live_members(session, self.settings)
        rows = session.execute(
            select(Node.id, Node.uuid, Node.conductor_group, Node.driver)
            .where(condition, membership.served_by(self.name))
            .order_by(Node.id)
        )
        return [node_id for node_id, uuid, group, driver in rows if membership.owner(uuid, group, driver) == self.name]
