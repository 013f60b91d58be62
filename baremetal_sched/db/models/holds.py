"""Holds: reasons why a machine must not be used, who asserted them, from when to when."""

from typing import Any

from sqlalchemy import Double, ForeignKey, Index, String, Text, false
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, HasUuid, table_args
from baremetal_sched.db.types import Json


class Hold(HasUuid, Base):
    """A reason why a node must not be used. Releasing it deletes the row.

    All times are seconds since 1970 by the clock of the database. ``asserted_by`` and ``asserted_by_project`` are empty
    if the service itself asserted it; ``asserted_by_name`` is the name of the user at that time, empty if the log-in
    had none. ``starts_at`` and ``ends_at`` are the planned times: without a start it starts when it is asserted,
    without an end it stays until it is released. ``begun_at``: since when the node is in maintenance for it; NULL: it
    is planned, or a hold that drains waits until the node rests, at most until ``drain_deadline``.
    ``written_at``: when its reason was written last. ``acknowledged_at``, of a lockout: since when it is known that no
    driver is at work on the machine.
    """

    __tablename__ = "holds"
    __table_args__ = table_args(
        Index("ix_holds_node_id", "node_id"),
        Index("ix_holds_begun_at_starts_at", "begun_at", "starts_at"),
        Index("ix_holds_ends_at", "ends_at"),
    )

    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"))
    type: Mapped[str] = mapped_column(String(64))
    reason: Mapped[str | None] = mapped_column(Text)
    scope: Mapped[str] = mapped_column(String(16))
    asserted_by: Mapped[str] = mapped_column(String(255), server_default="")
    asserted_by_name: Mapped[str] = mapped_column(String(255), server_default="")
    asserted_by_project: Mapped[str] = mapped_column(String(255), server_default="")
    asserted_at: Mapped[float] = mapped_column(Double)
    written_at: Mapped[float] = mapped_column(Double)
    extra: Mapped[Any | None] = mapped_column(Json)
    starts_at: Mapped[float | None] = mapped_column(Double)
    ends_at: Mapped[float | None] = mapped_column(Double)
    drain: Mapped[bool] = mapped_column(server_default=false())
    drain_deadline: Mapped[float | None] = mapped_column(Double)
    begun_at: Mapped[float | None] = mapped_column(Double)
    acknowledged_at: Mapped[float | None] = mapped_column(Double)
