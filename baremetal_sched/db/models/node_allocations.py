"""Allocations of the bare metal API: a request for a node, and the node found for it."""

from datetime import datetime
from typing import Any

from sqlalchemy import DateTime, ForeignKey, Index, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, table_args
from baremetal_sched.db.types import Json, Message


class NodeAllocation(Base):
    """A request for a node. An active one has a node, whose provider is held by a placement consumer with this UUID.

    ``conductor_affinity`` is the host name of the conductor that owned the node when it was chosen.
    """

    __tablename__ = "node_allocations"
    __table_args__ = table_args(
        Index("ix_node_allocations_resource_class", "resource_class"),
        Index("ix_node_allocations_state", "state"),
        Index("ix_node_allocations_owner", "owner"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    uuid: Mapped[str] = mapped_column(String(36), unique=True)
    name: Mapped[str | None] = mapped_column(String(255), unique=True)
    node_id: Mapped[int | None] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"), unique=True)
    state: Mapped[str] = mapped_column(String(16))
    last_error: Mapped[str | None] = mapped_column(Message)
    resource_class: Mapped[str | None] = mapped_column(String(80))
    traits: Mapped[Any | None] = mapped_column(Json)
    candidate_nodes: Mapped[Any | None] = mapped_column(Json)
    owner: Mapped[str | None] = mapped_column(String(255))
    extra: Mapped[Any | None] = mapped_column(Json)
    conductor_affinity: Mapped[str | None] = mapped_column(String(255))
    revision: Mapped[int] = mapped_column(Integer)
    created_at: Mapped[datetime] = mapped_column(DateTime)
    updated_at: Mapped[datetime | None] = mapped_column(DateTime)

    __mapper_args__ = {"version_id_col": revision}
