"""Nodes, their traits, their allocations and their history."""

from datetime import datetime
from typing import Any

from sqlalchemy import DateTime, Double, ForeignKey, Index, String, Text, false
from sqlalchemy.orm import Mapped, mapped_column
from sqlalchemy.orm.attributes import flag_modified

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models.base import (
    MYSQL_TABLE,
    Base,
    Created,
    HasId,
    HasUuid,
    Requested,
    Timestamped,
    Versioned,
    table_args,
)
from baremetal_sched.db.sealing import SealedJson
from baremetal_sched.db.types import Json, Message


class Chassis(HasUuid, Timestamped, Base):
    """A chassis that contains nodes."""

    __tablename__ = "chassis"

    description: Mapped[str | None] = mapped_column(String(255))
    extra: Mapped[Any | None] = mapped_column(Json)


class Node(HasUuid, Versioned, Timestamped, Base):
    """A machine. Fields and their meaning are those of Ironic's node, in the order of the API reference.

    ``reservation`` is the host name of the conductor that is working on the node, ``conductor_affinity`` that of the
    one that is set up for the node's instance. ``closes_at``: the moment from which a planned hold closes it to claims,
    in seconds since 1970 by the clock of the database; NULL: no hold is planned.
    """

    __tablename__ = "nodes"
    __table_args__ = table_args(
        Index("ix_nodes_conductor_group_driver", "conductor_group", "driver"),
    )

    name: Mapped[str | None] = mapped_column(String(255), unique=True)
    chassis_id: Mapped[int | None] = mapped_column(ForeignKey("chassis.id"))

    driver: Mapped[str] = mapped_column(String(255))
    driver_info: Mapped[Any | None] = mapped_column(SealedJson)
    driver_internal_info: Mapped[Any | None] = mapped_column(SealedJson)
    properties: Mapped[Any | None] = mapped_column(Json)
    extra: Mapped[Any | None] = mapped_column(Json)
    conductor_group: Mapped[str] = mapped_column(String(255), server_default="")
    resource_class: Mapped[str | None] = mapped_column(String(80), index=True)
    description: Mapped[str | None] = mapped_column(Text)
    owner: Mapped[str | None] = mapped_column(String(255), index=True)
    lessee: Mapped[str | None] = mapped_column(String(255), index=True)
    shard: Mapped[str | None] = mapped_column(String(255), index=True)
    parent_node: Mapped[str | None] = mapped_column(String(36), index=True)

    instance_uuid: Mapped[str | None] = mapped_column(String(36), unique=True)
    instance_name: Mapped[str | None] = mapped_column(String(255), index=True)
    # URLs of images may contain signatures.
    instance_info: Mapped[Any | None] = mapped_column(SealedJson(also=("image_url",)))
    allocation_uuid: Mapped[str | None] = mapped_column(String(36), unique=True)

    power_state: Mapped[str | None] = mapped_column(String(32))
    target_power_state: Mapped[str | None] = mapped_column(String(32))
    provision_state: Mapped[str] = mapped_column(String(32), index=True)
    target_provision_state: Mapped[str | None] = mapped_column(String(32))
    provision_updated_at: Mapped[datetime | None] = mapped_column(DateTime)
    #: Since when it waits, by the clock of the database, and the ``provision_updated_at`` that was written along with
    #: it. If that is another one, an earlier release has written it, and ``waiting_since`` means nothing.
    waiting_since: Mapped[float | None] = mapped_column(Double)
    waiting_since_of: Mapped[datetime | None] = mapped_column(DateTime)
    last_error: Mapped[str | None] = mapped_column(Message)
    reservation: Mapped[str | None] = mapped_column(String(255), index=True)
    conductor_affinity: Mapped[str | None] = mapped_column(String(255))
    maintenance: Mapped[bool] = mapped_column(server_default=false())
    maintenance_reason: Mapped[str | None] = mapped_column(Text)
    fault: Mapped[str | None] = mapped_column(String(64))
    closes_at: Mapped[float | None] = mapped_column(Double)
    console_enabled: Mapped[bool] = mapped_column(server_default=false())
    protected: Mapped[bool] = mapped_column(server_default=false())
    protected_reason: Mapped[str | None] = mapped_column(Text)
    retired: Mapped[bool] = mapped_column(server_default=false())
    retired_reason: Mapped[str | None] = mapped_column(Text)
    automated_clean: Mapped[bool | None]
    disable_power_off: Mapped[bool] = mapped_column(server_default=false())
    inspection_started_at: Mapped[datetime | None] = mapped_column(DateTime)
    inspection_finished_at: Mapped[datetime | None] = mapped_column(DateTime)
    clean_step: Mapped[Any | None] = mapped_column(SealedJson)
    deploy_step: Mapped[Any | None] = mapped_column(SealedJson)
    service_step: Mapped[Any | None] = mapped_column(SealedJson)
    raid_config: Mapped[Any | None] = mapped_column(Json)
    target_raid_config: Mapped[Any | None] = mapped_column(Json)
    network_data: Mapped[Any | None] = mapped_column(Json)
    boot_mode: Mapped[str | None] = mapped_column(String(16))
    secure_boot: Mapped[bool | None]
    health: Mapped[str | None] = mapped_column(String(32))

    bios_interface: Mapped[str | None] = mapped_column(String(64))
    boot_interface: Mapped[str | None] = mapped_column(String(64))
    console_interface: Mapped[str | None] = mapped_column(String(64))
    deploy_interface: Mapped[str | None] = mapped_column(String(64))
    firmware_interface: Mapped[str | None] = mapped_column(String(64))
    inspect_interface: Mapped[str | None] = mapped_column(String(64))
    management_interface: Mapped[str | None] = mapped_column(String(64))
    network_interface: Mapped[str | None] = mapped_column(String(64))
    power_interface: Mapped[str | None] = mapped_column(String(64))
    raid_interface: Mapped[str | None] = mapped_column(String(64))
    rescue_interface: Mapped[str | None] = mapped_column(String(64))
    storage_interface: Mapped[str | None] = mapped_column(String(64))
    vendor_interface: Mapped[str | None] = mapped_column(String(64))

    def touch(self) -> None:
        """Increment the revision, even if no column of the node changes."""
        self.updated_at = utcnow()
        flag_modified(self, "updated_at")


class NodeTrait(Base):
    """A trait of a node."""

    __tablename__ = "node_traits"

    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"), primary_key=True)
    trait: Mapped[str] = mapped_column(String(255), primary_key=True, index=True)


class NodeWork(HasId, Requested, Base):
    """Work requested on a node, to be done by ``conductor`` (a host name); at most one per node.

    Its id is the fence of the reservation: a conductor's writes count only while the row exists. Only the process that
    claimed the row ever works on it; ``writes`` counts its writes, so that it can find out whether a write succeeded if
    the reply to a commit was lost. ``not_before``, by the database's clock, is set while the machine runs a step by
    itself, and is the time of the next poll.
    """

    __tablename__ = "node_work"
    __table_args__ = (
        # Never reuse an id: it is a fence.
        {**MYSQL_TABLE, "sqlite_autoincrement": True},
    )

    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"), unique=True)
    conductor: Mapped[str] = mapped_column(String(255), index=True)
    kind: Mapped[str] = mapped_column(String(32))
    arguments: Mapped[Any] = mapped_column(SealedJson(whole=True))
    requested_at: Mapped[float] = mapped_column(Double)
    claimed_by: Mapped[str | None] = mapped_column(String(36))
    writes: Mapped[int] = mapped_column(server_default="0")
    not_before: Mapped[float | None] = mapped_column(Double)


class NodeAllocation(HasUuid, Versioned, Timestamped, Base):
    """A request for a node. An active one has a node, whose provider is held by a placement consumer with this UUID.

    ``conductor_affinity`` is the host name of the conductor that owned the node when it was chosen.
    """

    __tablename__ = "node_allocations"

    name: Mapped[str | None] = mapped_column(String(255), unique=True)
    node_id: Mapped[int | None] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"), unique=True)
    state: Mapped[str] = mapped_column(String(16), index=True)
    last_error: Mapped[str | None] = mapped_column(Message)
    resource_class: Mapped[str | None] = mapped_column(String(80), index=True)
    traits: Mapped[Any | None] = mapped_column(Json)
    candidate_nodes: Mapped[Any | None] = mapped_column(Json)
    owner: Mapped[str | None] = mapped_column(String(255), index=True)
    extra: Mapped[Any | None] = mapped_column(Json)
    conductor_affinity: Mapped[str | None] = mapped_column(String(255))


class NodeHistory(HasUuid, Created, Base):
    """An event of a node, with the node's states. Deleted with the node.

    Within a node the order of ``id`` is the order of events; ``created_at`` has whole seconds only.
    """

    __tablename__ = "node_history"
    __table_args__ = table_args(Index("ix_node_history_node_id", "node_id", "id"))

    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"))
    severity: Mapped[str] = mapped_column(String(16))
    event: Mapped[str] = mapped_column(Message)
    event_type: Mapped[str] = mapped_column(String(64))
    conductor: Mapped[str | None] = mapped_column(String(255))
    user: Mapped[str | None] = mapped_column(String(255))
    project: Mapped[str | None] = mapped_column(String(255))
    state: Mapped[str | None] = mapped_column("provision_state", String(32))
    target_provision_state: Mapped[str | None] = mapped_column(String(32))
    duration_seconds: Mapped[float | None] = mapped_column(Double)
