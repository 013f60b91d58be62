"""Remote volumes: connectors and targets of nodes."""

from typing import Any

from sqlalchemy import ForeignKey, Integer, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, HasUuid, Timestamped, table_args
from baremetal_sched.db.sealing import SealedJson
from baremetal_sched.db.types import Json


class VolumeConnector(HasUuid, Timestamped, Base):
    """An identifier of a node for storage: an IQN, an address, a world wide name."""

    __tablename__ = "volume_connectors"
    __table_args__ = table_args(
        UniqueConstraint("type", "connector_id", name="uq_volume_connectors_type_connector_id"),
    )

    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"), index=True)
    type: Mapped[str] = mapped_column(String(32))
    connector_id: Mapped[str] = mapped_column(String(255))
    extra: Mapped[Any | None] = mapped_column(Json)


class VolumeTarget(HasUuid, Timestamped, Base):
    """A volume of a node; the node boots from the one with ``boot_index`` 0."""

    __tablename__ = "volume_targets"
    __table_args__ = table_args(
        UniqueConstraint("node_id", "boot_index", name="uq_volume_targets_node_id_boot_index"),
    )

    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"))
    volume_type: Mapped[str] = mapped_column(String(64))
    volume_id: Mapped[str] = mapped_column(String(255))
    boot_index: Mapped[int] = mapped_column(Integer)
    properties: Mapped[Any | None] = mapped_column(SealedJson)
    extra: Mapped[Any | None] = mapped_column(Json)
