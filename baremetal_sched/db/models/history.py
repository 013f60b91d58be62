"""The history of nodes."""

from datetime import datetime

from sqlalchemy import DateTime, Double, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, table_args
from baremetal_sched.db.types import Message


class NodeHistory(Base):
    """An event of a node, with the node's states. Deleted with the node.

    Within a node the order of ``id`` is the order of events; ``created_at`` has whole seconds only.
    """

    __tablename__ = "node_history"
    __table_args__ = table_args(Index("ix_node_history_node_id", "node_id", "id"))

    id: Mapped[int] = mapped_column(primary_key=True)
    uuid: Mapped[str] = mapped_column(String(36), unique=True)
    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"))
    created_at: Mapped[datetime] = mapped_column(DateTime)
    severity: Mapped[str] = mapped_column(String(16))
    event: Mapped[str] = mapped_column(Message)
    event_type: Mapped[str] = mapped_column(String(64))
    conductor: Mapped[str | None] = mapped_column(String(255))
    user: Mapped[str | None] = mapped_column(String(255))
    project: Mapped[str | None] = mapped_column(String(255))
    state: Mapped[str | None] = mapped_column("provision_state", String(32))
    target_provision_state: Mapped[str | None] = mapped_column(String(32))
    duration_seconds: Mapped[float | None] = mapped_column(Double)
