"""Remote volumes: connectors and targets of nodes."""

from datetime import datetime
from typing import Any

from sqlalchemy import DateTime, ForeignKey, Index, Integer, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, table_args
from baremetal_sched.db.sealing import SealedJson
from baremetal_sched.db.types import Json


class VolumeConnector(Base):
    """An identifier of a node for storage: an IQN, an address, a world wide name."""

    __tablename__ = "volume_connectors"
    __table_args__ = table_args(
        UniqueConstraint("type", "connector_id", name="uq_volume_connectors_type_connector_id"),
        Index("ix_volume_connectors_node_id", "node_id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    uuid: Mapped[str] = mapped_column(String(36), unique=True)
    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"))
    type: Mapped[str] = mapped_column(String(32))
    connector_id: Mapped[str] = mapped_column(String(255))
    extra: Mapped[Any | None] = mapped_column(Json)
    created_at: Mapped[datetime] = mapped_column(DateTime)
    updated_at: Mapped[datetime | None] = mapped_column(DateTime)


class VolumeTarget(Base):
    """A volume of a node; the node boots from the one with ``boot_index`` 0."""

    __tablename__ = "volume_targets"
    __table_args__ = table_args(
        UniqueConstraint("node_id", "boot_index", name="uq_volume_targets_node_id_boot_index"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    uuid: Mapped[str] = mapped_column(String(36), unique=True)
    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"))
    volume_type: Mapped[str] = mapped_column(String(64))
    volume_id: Mapped[str] = mapped_column(String(255))
    boot_index: Mapped[int] = mapped_column(Integer)
    properties: Mapped[Any | None] = mapped_column(SealedJson)
    extra: Mapped[Any | None] = mapped_column(Json)
    created_at: Mapped[datetime] = mapped_column(DateTime)
    updated_at: Mapped[datetime | None] = mapped_column(DateTime)
