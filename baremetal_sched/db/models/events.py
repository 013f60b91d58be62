"""Events: changes that were committed, as the readers of ``/scheduling/v1/events`` get them."""

from sqlalchemy import BigInteger, Double, Index, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import MYSQL_TABLE, Base, HasId, table_args
from baremetal_sched.db.types import LongText

#: SQLite counts only in a column of this type.
_BigId = BigInteger().with_variant(Integer, "sqlite")


class HappenedEvent:
    """What an event says. ``node`` is the UUID of its node, if it has one. ``name`` … ``conductor_group`` are the
    node's after the change, ``project_id`` is the consumer's or the requester's. ``at``: seconds since 1970 by the
    clock of the database. ``user_id`` and ``user_project_id``: who made the change, empty for the service itself, NULL
    if that is unknown. ``data`` is JSON: the rest."""

    uuid: Mapped[str] = mapped_column(String(36))
    type: Mapped[str] = mapped_column(String(64))
    subject: Mapped[str] = mapped_column(String(36))
    node: Mapped[str | None] = mapped_column(String(36))
    at: Mapped[float] = mapped_column(Double)
    name: Mapped[str | None] = mapped_column(String(255))
    provision_state: Mapped[str | None] = mapped_column(String(32))
    power_state: Mapped[str | None] = mapped_column(String(32))
    maintenance: Mapped[bool | None] = mapped_column()
    owner: Mapped[str | None] = mapped_column(String(255))
    lessee: Mapped[str | None] = mapped_column(String(255))
    resource_class: Mapped[str | None] = mapped_column(String(80))
    conductor_group: Mapped[str | None] = mapped_column(String(255))
    project_id: Mapped[str | None] = mapped_column(String(255))
    data: Mapped[str] = mapped_column(LongText)
    user_id: Mapped[str | None] = mapped_column(String(255))
    user_project_id: Mapped[str | None] = mapped_column(String(255))


class EventNote(HappenedEvent, Base):
    """An event without a number, written by the transaction of its change.

    Ids are not the order of commits: a row may appear after one with a higher id. So no reader reads this table. One
    conductor at a time moves its rows to ``events`` and numbers them there.
    """

    __tablename__ = "event_notes"
    __table_args__ = ({**MYSQL_TABLE, "sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(_BigId, primary_key=True, sort_order=-1)


class NumberedEvent(HappenedEvent, Base):
    """An event with its number: there are no gaps, and a row appears after all with lower numbers."""

    __tablename__ = "events"
    __table_args__ = table_args(
        Index("ix_events_node_number", "node", "number"), Index("ix_events_at_number", "at", "number")
    )

    number: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False, sort_order=-1)


class EventProject(Base):
    """A project whose an event was: the owner or the lessee of the node, or the project of the consumer.

    Rows are made and deleted with those of ``events``; a foreign key would cost as much as the row itself.
    """

    __tablename__ = "event_projects"

    project_id: Mapped[str] = mapped_column(String(255), primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False, index=True)


class EventStream(HasId, Base):
    """One row. ``uuid`` names the numbers up to ``last``: numbers of another stream mean other events.

    ``holder`` (a conductor's process) gives numbers until ``held_until``, in seconds since 1970 by the clock of the
    database. It locks the row while it gives them.
    """

    __tablename__ = "event_stream"

    uuid: Mapped[str] = mapped_column(String(36))
    last: Mapped[int] = mapped_column(BigInteger, server_default="0")
    holder: Mapped[str | None] = mapped_column(String(36))
    held_until: Mapped[float] = mapped_column(Double, server_default="0")


class CapacitySample(Base):
    """How many machines of a class (its name in placement) were free and in use, and how many requests waited for one,
    at a multiple of ten minutes: seconds since 1970 by the clock of the database."""

    __tablename__ = "capacity_samples"

    resource_class: Mapped[str] = mapped_column(String(255), primary_key=True)
    at: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False, index=True)
    free: Mapped[int] = mapped_column()
    in_use: Mapped[int] = mapped_column()
    waiting: Mapped[int] = mapped_column()
