"""Where a conductor works: under which name, with which settings, and which nodes are its own."""

from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.ownership import Membership, live_members
from baremetal_sched.conductor.back_off import BackOff
from baremetal_sched.conductor.questions import Questions
from baremetal_sched.db.models import Node
from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import Settings


@dataclass(frozen=True)
class Host:
    """A conductor's host name, its database and its settings; and what it is asking machines, and which were silent."""

    name: str
    database: Database
    settings: Settings
    questions: Questions = field(default_factory=Questions, compare=False)
    back_off: BackOff = field(default_factory=BackOff, compare=False)

    def membership(self) -> Membership:
        """The live conductors, now."""
        return self.database.read(lambda session: live_members(session, self.settings))

    def own(self, condition: ColumnElement[bool]) -> list[int]:
        """Ids of the nodes that the ring gives this conductor and that ``condition`` holds for, in order."""
        return self.database.read(lambda session: self.select_own(session, condition))

    def select_own(self, session: Session, condition: ColumnElement[bool]) -> list[int]:
        """The same, in a transaction that is there."""
        # SELECT … FROM nodes WHERE (condition) AND (a group and driver that it serves)
        membership = live_members(session, self.settings)
        rows = session.execute(
            select(Node.id, Node.uuid, Node.conductor_group, Node.driver)
            .where(condition, membership.served_by(self.name))
            .order_by(Node.id)
        )
        return [node_id for node_id, uuid, group, driver in rows if membership.owner(uuid, group, driver) == self.name]
