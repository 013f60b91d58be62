"""Servers of the compute API: what the user requested, and the state that the node does not have."""

from datetime import datetime
from typing import Any

from sqlalchemy import DateTime, Double, ForeignKey, Index, Integer, String, false
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, HasId, HasUuid, Timestamped, Versioned, table_args
from baremetal_sched.db.types import Json, LongText


class Server(HasUuid, Versioned, Timestamped, Base):
    """A server. Its machine is the node whose ``instance_uuid`` is the server's UUID; no column repeats that.

    ``flavor`` and ``image`` are the server's own copies. ``task`` is the requested operation in progress
    (``compute.server_states``), ``tried_nodes`` has the UUIDs of nodes on which its deployment failed.
    ``requested_zone`` and ``requested_node`` (a UUID) restrict where it may be. One that waits for a machine does so
    since ``asked_at`` and until ``wait_until``, in seconds since 1970 by the clock of the database.
    """

    __tablename__ = "servers"
    __table_args__ = table_args(
        Index("ix_servers_created_at", "created_at"),
    )

    name: Mapped[str] = mapped_column(String(255), index=True)
    hostname: Mapped[str] = mapped_column(String(255))
    description: Mapped[str | None] = mapped_column(String(255))
    project_id: Mapped[str] = mapped_column(String(255), index=True)
    user_id: Mapped[str] = mapped_column(String(255))
    flavor: Mapped[Any] = mapped_column(Json)
    flavor_id: Mapped[str] = mapped_column(String(255))
    image: Mapped[Any | None] = mapped_column(Json)
    image_id: Mapped[str | None] = mapped_column(String(36))
    keypair: Mapped[Any | None] = mapped_column(Json)
    user_data: Mapped[str | None] = mapped_column(LongText)
    config_drive: Mapped[bool] = mapped_column(server_default=false())
    user_metadata: Mapped[Any] = mapped_column("metadata", Json)
    security_groups: Mapped[Any] = mapped_column(Json)
    scheduler_hints: Mapped[Any] = mapped_column(Json)
    requested_zone: Mapped[str | None] = mapped_column(String(255))
    requested_node: Mapped[str | None] = mapped_column(String(36))
    reservation_id: Mapped[str] = mapped_column(String(36))
    launch_index: Mapped[int] = mapped_column(Integer, server_default="0")
    disk_config: Mapped[str] = mapped_column(String(8), server_default="MANUAL")
    access_ip_v4: Mapped[str | None] = mapped_column(String(64))
    access_ip_v6: Mapped[str | None] = mapped_column(String(64))
    locked: Mapped[bool] = mapped_column(server_default=false())
    locked_reason: Mapped[str | None] = mapped_column(String(255))
    task: Mapped[str | None] = mapped_column(String(32), index=True)
    power_after_task: Mapped[str | None] = mapped_column(String(32))
    fault: Mapped[Any | None] = mapped_column(Json)
    tried_nodes: Mapped[Any] = mapped_column(Json)
    launched_at: Mapped[datetime | None] = mapped_column(DateTime)
    asked_at: Mapped[float | None] = mapped_column(Double)
    wait_until: Mapped[float | None] = mapped_column(Double)


class ServerTag(Base):
    """A tag of a server."""

    __tablename__ = "server_tags"

    server_id: Mapped[int] = mapped_column(ForeignKey("servers.id", ondelete="CASCADE"), primary_key=True)
    tag: Mapped[str] = mapped_column(String(60), primary_key=True, index=True)


class ServerAction(HasId, Versioned, Base):
    """An operation requested by the request with ``request_id``, and its result.

    ``events`` is a list of objects with ``event``, ``start_time``, ``finish_time``, ``result``, ``details``, ``host``
    and ``host_id``.
    """

    __tablename__ = "server_actions"
    __table_args__ = table_args(Index("ix_server_actions_server_id", "server_id", "request_id"))

    server_id: Mapped[int] = mapped_column(ForeignKey("servers.id", ondelete="CASCADE"))
    request_id: Mapped[str] = mapped_column(String(64))
    action: Mapped[str] = mapped_column(String(64))
    project_id: Mapped[str | None] = mapped_column(String(255))
    user_id: Mapped[str | None] = mapped_column(String(255))
    message: Mapped[str | None] = mapped_column(String(255))
    events: Mapped[Any] = mapped_column(Json)
    started_at: Mapped[datetime] = mapped_column(DateTime)
    updated_at: Mapped[datetime | None] = mapped_column(DateTime)
