"""Claims that wait until a machine is free."""

from typing import Any

from sqlalchemy import Double, Index, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import MYSQL_TABLE, Base, Created, HasUuid, Requested
from baremetal_sched.db.sealing import SealedJson
from baremetal_sched.db.types import Json, Message

#: The columns of the queue, in the order in which it is read: nothing else is read until a claim may fit.
_QUEUE = ("state", "resource_class", "needed_trait", "priority", "request_key", "asked_at", "deadline")


def queue_name(resource_class: str, booking_id: int | None) -> str:
    """Return the name of the queue for machines of a class: the class, or that of a booking (an id).

    A longer name than the column holds is cut: no node has such a class.
    """
    return resource_class if booking_id is None else f"booking:{booking_id}:{resource_class}"[:255]


def is_of_booking(queue: str) -> bool:
    """Return whether a queue is that of a booking."""
    return queue.startswith("booking:")


def class_of(queue: str) -> str:
    """Return the class of the machines of a queue."""
    return queue.rpartition(":")[2]


class WaitingRequest(HasUuid, Requested, Created, Base):
    """A claim of the scheduling API, or an allocation or a server that waits for a machine, by ``kind``.

    The UUID is the consumer's. ``resource_class`` is the node's own class in placement. Claims with the same
    ``request_key`` have equal requests (``request``): a machine that fits one of them fits all. ``asked_at``,
    ``deadline`` and ``decided_at`` are seconds since 1970 by the clock of the database; higher priorities go first.
    ``secret`` has secrets for the deployment of a server, and is deleted when the claim no longer waits.
    ``body_digest`` identifies the body that asked for it. ``group_id``: the machine group that gets the machines.
    ``ends_at`` or ``lasts``, if it has an end: when it gives its machine back, or after how many seconds of having it.
    ``booking_id``: the booking under which it waits, if it does; ``resource_class`` is then the name of the booking's
    own queue (``queue_name``). ``kept_since``: since when freed machines are or were kept for it without a plan; NULL:
    they never were.
    """

    __tablename__ = "pending_claims"
    __table_args__ = (
        Index("ix_pending_claims_queue", *_QUEUE),
        Index("ix_pending_claims_entry", "request_key", "state", "priority", "asked_at"),
        Index("ix_pending_claims_project", "consumer_project", "state"),
        {**MYSQL_TABLE, "sqlite_autoincrement": True},
    )

    kind: Mapped[str] = mapped_column(String(16))
    state: Mapped[str] = mapped_column(String(16))
    resource_class: Mapped[str] = mapped_column(String(255))
    priority: Mapped[int] = mapped_column(Integer, server_default="0")
    asked_at: Mapped[float] = mapped_column(Double)
    deadline: Mapped[float] = mapped_column(Double)
    decided_at: Mapped[float | None] = mapped_column(Double)
    request: Mapped[Any] = mapped_column(Json)
    request_key: Mapped[str] = mapped_column(String(64))
    needed_trait: Mapped[str | None] = mapped_column(String(255))
    body_digest: Mapped[str | None] = mapped_column(String(64))
    consumer_project: Mapped[str] = mapped_column(String(255))
    consumer_user: Mapped[str] = mapped_column(String(255))
    consumer_type: Mapped[str | None] = mapped_column(String(255))
    reason: Mapped[str | None] = mapped_column(Message)
    group_id: Mapped[int | None] = mapped_column(Integer)
    ends_at: Mapped[float | None] = mapped_column(Double)
    lasts: Mapped[float | None] = mapped_column(Double)
    booking_id: Mapped[int | None] = mapped_column(Integer)
    kept_since: Mapped[float | None] = mapped_column(Double)
    secret: Mapped[Any | None] = mapped_column(SealedJson(whole=True))

    @property
    def machine_class(self) -> str:
        """The machines' own class in placement, whatever the queue."""
        return class_of(self.resource_class)
