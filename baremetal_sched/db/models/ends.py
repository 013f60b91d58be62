"""Ends of claims."""

from sqlalchemy import Double, ForeignKey, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base
from baremetal_sched.db.types import Message


class ClaimEnd(Base):
    """The moment at which a consumer gives its machine back by itself. Whatever releases the consumer deletes the row.

    Moments are seconds since 1970 by the clock of the database: ``began_at``, when the consumer got its machine;
    ``set_at``, when the end was given; ``ends_at``, the end; ``due_at``, when a conductor has something to do about it.
    ``state``: see ``placement.ends``. ``told``: the shortest interval before the end, in seconds, of which an event was
    written; NULL: none. ``tries``, ``late_since`` and ``reason`` (a sentence) are those of an end that is late.
    ``booking_id``: the booking under which the machine was claimed; the row may be gone.
    """

    __tablename__ = "claim_ends"

    consumer_id: Mapped[int] = mapped_column(
        ForeignKey("consumers.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    began_at: Mapped[float] = mapped_column(Double)
    set_at: Mapped[float] = mapped_column(Double)
    ends_at: Mapped[float] = mapped_column(Double)
    state: Mapped[str] = mapped_column(String(8))
    due_at: Mapped[float] = mapped_column(Double, index=True)
    told: Mapped[float | None] = mapped_column(Double)
    tries: Mapped[int] = mapped_column(Integer, server_default="0")
    late_since: Mapped[float | None] = mapped_column(Double)
    reason: Mapped[str | None] = mapped_column(Message)
    booking_id: Mapped[int | None] = mapped_column(Integer, index=True)
