"""Groups of machines that were claimed together, and the consumers that have them."""

from sqlalchemy import ForeignKey, Integer, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, Created, HasId, Versioned, table_args


class MachineGroup(HasId, Versioned, Created, Base):
    """A group of machines with a name in its project. Its machines are spread over domains of the level ``spread_by``,
    ``at_most`` in each, within one domain of the level ``pack_by``; NULL: they need not be.

    The row may outlive the group, which is gone with its last machine and its last waiting request. Every claim of the
    group increments the revision.
    """

    __tablename__ = "machine_groups"
    __table_args__ = table_args(UniqueConstraint("project", "name", name="uq_machine_groups_project"))

    project: Mapped[str] = mapped_column(String(255))
    name: Mapped[str] = mapped_column(String(255))
    spread_by: Mapped[str | None] = mapped_column(String(64))
    at_most: Mapped[int | None] = mapped_column(Integer)
    pack_by: Mapped[str | None] = mapped_column(String(64))


class GroupMember(Base):
    """The consumer of one machine of a claim of several: ``claim`` is the UUID of the claim, ``number`` counts from 1.

    Whatever releases the consumer deletes the row with it.
    """

    __tablename__ = "group_members"

    consumer_id: Mapped[int] = mapped_column(
        ForeignKey("consumers.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    claim: Mapped[str] = mapped_column(String(36), index=True)
    number: Mapped[int] = mapped_column(Integer)
    group_id: Mapped[int | None] = mapped_column(ForeignKey("machine_groups.id"), index=True)
