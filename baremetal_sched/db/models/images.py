"""Images as records; their data is stored elsewhere."""

from datetime import datetime

from sqlalchemy import DateTime, ForeignKey, Index, Integer, String, Text, UniqueConstraint, false
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, Created, HasId, HasUuid, Versioned, table_args
from baremetal_sched.db.types import LongText


class Image(HasUuid, Versioned, Created, Base):
    """An image. Fields and their meaning are those of Glance; ``location`` is the URL of its data, if known.

    Changes of its properties and tags count as changes of the image.
    """

    __tablename__ = "images"
    __table_args__ = table_args(
        Index("ix_images_created_at", "created_at"),
    )

    name: Mapped[str | None] = mapped_column(String(255), index=True)
    status: Mapped[str] = mapped_column(String(32))
    visibility: Mapped[str] = mapped_column(String(16))
    owner: Mapped[str | None] = mapped_column(String(255), index=True)
    protected: Mapped[bool] = mapped_column(server_default=false())
    os_hidden: Mapped[bool] = mapped_column(server_default=false())
    container_format: Mapped[str | None] = mapped_column(String(32))
    disk_format: Mapped[str | None] = mapped_column(String(32))
    min_disk: Mapped[int] = mapped_column(Integer, server_default="0")
    min_ram: Mapped[int] = mapped_column(Integer, server_default="0")
    location: Mapped[str | None] = mapped_column(Text)
    updated_at: Mapped[datetime] = mapped_column(DateTime)


class ImageProperty(Base):
    """A property of an image that is not a field."""

    __tablename__ = "image_properties"

    image_id: Mapped[int] = mapped_column(ForeignKey("images.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String(255), primary_key=True)
    value: Mapped[str] = mapped_column(LongText)


class ImageTag(Base):
    """A tag of an image."""

    __tablename__ = "image_tags"

    image_id: Mapped[int] = mapped_column(ForeignKey("images.id", ondelete="CASCADE"), primary_key=True)
    tag: Mapped[str] = mapped_column(String(255), primary_key=True)


class ImageMember(HasId, Created, Base):
    """A project with which an image is shared, and whether it accepts that."""

    __tablename__ = "image_members"
    __table_args__ = table_args(
        UniqueConstraint("image_id", "member", name="uq_image_members_image_id_member"),
    )

    image_id: Mapped[int] = mapped_column(ForeignKey("images.id", ondelete="CASCADE"))
    member: Mapped[str] = mapped_column(String(255), index=True)
    status: Mapped[str] = mapped_column(String(32))
    updated_at: Mapped[datetime] = mapped_column(DateTime)
