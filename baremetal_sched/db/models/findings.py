"""Inspection and hardware data of nodes: inventories, BIOS settings, firmware."""

from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Integer, String, event
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, Created, Timestamped
from baremetal_sched.db.sealing import SealedJson, SealedText, SecretText
from baremetal_sched.db.types import Json
from baremetal_sched.masking import names_secret


class NodeInventory(Created, Base):
    """The result of a node's last inspection, and its plug-ins' data."""

    __tablename__ = "node_inventories"

    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"), primary_key=True)
    inventory: Mapped[Any] = mapped_column(SealedJson)
    plugin_data: Mapped[Any] = mapped_column(SealedJson)


class BiosSetting(Timestamped, Base):
    """A setting of a node's BIOS, and the known facts about its allowed values."""

    __tablename__ = "bios_settings"

    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String(255), primary_key=True)
    value: Mapped[str | None] = mapped_column(SealedText)
    attribute_type: Mapped[str | None] = mapped_column(String(255))
    allowable_values: Mapped[Any | None] = mapped_column(Json)
    lower_bound: Mapped[int | None] = mapped_column(BigInteger)
    upper_bound: Mapped[int | None] = mapped_column(BigInteger)
    min_length: Mapped[int | None] = mapped_column(Integer)
    max_length: Mapped[int | None] = mapped_column(Integer)
    read_only: Mapped[bool | None]
    reset_required: Mapped[bool | None]
    unique: Mapped[bool | None]


class FirmwareComponent(Timestamped, Base):
    """A component of a node with firmware, and its versions."""

    __tablename__ = "firmware_components"

    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"), primary_key=True)
    component: Mapped[str] = mapped_column(String(255), primary_key=True)
    initial_version: Mapped[str] = mapped_column(String(255))
    current_version: Mapped[str | None] = mapped_column(String(255))
    last_version_flashed: Mapped[str | None] = mapped_column(String(255))
    vendor: Mapped[str | None] = mapped_column(String(255))
    model: Mapped[str | None] = mapped_column(String(255))
    serial_number: Mapped[str | None] = mapped_column(String(255))


@event.listens_for(BiosSetting, "before_insert")
@event.listens_for(BiosSetting, "before_update")
def _note_secret(mapper: Any, connection: Any, setting: BiosSetting) -> None:
    """Mark secret values: only the name tells, which the column's type does not see."""
    value = setting.value
    if type(value) is str and names_secret(setting.name):
        setting.value = SecretText(value)
