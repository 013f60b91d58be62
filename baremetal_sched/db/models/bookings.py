"""Bookings, the machines of bookings and of plans, and the rows that bookings of a class or a project lock."""

from typing import Any

from sqlalchemy import Double, ForeignKey, Index, Integer, String, UniqueConstraint, false
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import MYSQL_TABLE, Base, Created, HasId, HasUuid, Versioned, table_args
from baremetal_sched.db.types import Json


class Booking(HasUuid, Versioned, Created, Base):
    """Machines of a project for later: ``count`` machines that satisfy ``request`` (``MachineRequest.document``), from
    ``starts_at`` until ``ends_at``.

    Moments are seconds since 1970 by the clock of the database. ``resource_class``: the machines' own class in
    placement; ``body_digest`` identifies the body that asked for it; ``made_at``: when it was made; ``due_at``: when a
    conductor has something to do about it, unless it ``is_over``. ``short_told``: how many machines it lacked in the
    last event; ``told``: the shortest interval before its end, in seconds, of which an event was written.
    """

    __tablename__ = "bookings"
    __table_args__ = (
        Index("ix_bookings_project", "project", "is_over"),
        Index("ix_bookings_is_over_due_at", "is_over", "due_at"),
        {**MYSQL_TABLE, "sqlite_autoincrement": True},
    )

    name: Mapped[str | None] = mapped_column(String(255))
    project: Mapped[str] = mapped_column(String(255))
    user: Mapped[str] = mapped_column(String(255))
    resource_class: Mapped[str] = mapped_column(String(255))
    request: Mapped[Any] = mapped_column(Json)
    body_digest: Mapped[str] = mapped_column(String(64))
    count: Mapped[int] = mapped_column(Integer)
    starts_at: Mapped[float] = mapped_column(Double)
    ends_at: Mapped[float] = mapped_column(Double)
    made_at: Mapped[float] = mapped_column(Double)
    due_at: Mapped[float] = mapped_column(Double)
    is_over: Mapped[bool] = mapped_column(server_default=false())
    short_told: Mapped[int] = mapped_column(Integer, server_default="0")
    told: Mapped[float | None] = mapped_column(Double)


class BookedMachine(HasId, Base):
    """A machine of a booking (``booking_id``), or of the plan of a request that waits (``waiting_id``): kept for it
    from ``starts_at`` until ``ends_at`` (NULL: it has no end), and for ``turnaround`` seconds after it.

    While the row counts, the machine is closed to whoever names no end: ``nodes.closes_at`` is ``made_at`` or earlier.
    ``used_at``: when it was first claimed under the booking; NULL: it was not.
    """

    __tablename__ = "booked_machines"
    __table_args__ = table_args(
        UniqueConstraint("booking_id", "node_id", name="uq_booked_machines_booking_id"),
        UniqueConstraint("waiting_id", "node_id", name="uq_booked_machines_waiting_id"),
        Index("ix_booked_machines_node_id", "node_id", "starts_at"),
        Index("ix_booked_machines_starts_at", "starts_at"),
    )

    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"))
    booking_id: Mapped[int | None] = mapped_column(ForeignKey("bookings.id", ondelete="CASCADE"))
    waiting_id: Mapped[int | None] = mapped_column(ForeignKey("pending_claims.id", ondelete="CASCADE"))
    starts_at: Mapped[float] = mapped_column(Double)
    ends_at: Mapped[float | None] = mapped_column(Double)
    turnaround: Mapped[float] = mapped_column(Double)
    made_at: Mapped[float] = mapped_column(Double)
    used_at: Mapped[float | None] = mapped_column(Double)


class BookingLock(Base):
    """A row that each booking of a class, or of a project, counts up: they follow each other."""

    __tablename__ = "booking_locks"

    name: Mapped[str] = mapped_column(String(300), primary_key=True)
    number: Mapped[int] = mapped_column(Integer)
