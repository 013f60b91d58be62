"""An image as a plain record, and how it is read: three statements, however many images."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import Image, ImageProperty, ImageTag, table_of
from baremetal_sched.db.types import Query

#: The property with the URL of the data.
SOURCE = "image_source"

IMAGES = table_of(Image)
PROPERTIES = table_of(ImageProperty)
TAGS = table_of(ImageTag)


@dataclass(frozen=True)
class ImageRecord:
    """An image, with its properties and tags. ``location`` is what an import said, and nothing was fetched from."""

    id: int
    uuid: str
    name: str | None
    status: str
    visibility: str
    owner: str | None
    protected: bool
    os_hidden: bool
    container_format: str | None
    disk_format: str | None
    min_disk: int
    min_ram: int
    location: str | None
    created_at: datetime
    updated_at: datetime
    properties: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()

    @property
    def image_source(self) -> str:
        """Return the image source in ``instance_info``: a property, else the location, else the image's UUID."""
        return self.properties.get(SOURCE) or self.location or self.uuid


COLUMNS = tuple(IMAGES.c[name] for name in ImageRecord.__dataclass_fields__ if name in IMAGES.c)


def select_records(session: Session, query: Query) -> list[ImageRecord]:
    """The images that ``query`` selects, which has ``COLUMNS``, in its order."""
    rows = session.execute(query).mappings().all()
    ids = [row["id"] for row in rows]
    properties, tags = _properties(session, ids), _tags(session, ids)
    return [_record(row, properties.get(row["id"], {}), tags.get(row["id"], [])) for row in rows]


def _record(row: Mapping[Any, Any], properties: dict[str, str], tags: Iterable[str]) -> ImageRecord:
    return ImageRecord(**{str(key): value for key, value in row.items()}, properties=properties, tags=tuple(tags))


def _properties(session: Session, ids: list[int]) -> dict[int, dict[str, str]]:
    found: dict[int, dict[str, str]] = {}
    if ids:
        query = select(PROPERTIES).where(PROPERTIES.c.image_id.in_(ids)).order_by(PROPERTIES.c.name)
        for image_id, name, value in session.execute(query):
            found.setdefault(image_id, {})[name] = value
    return found


def _tags(session: Session, ids: list[int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    if ids:
        query = select(TAGS).where(TAGS.c.image_id.in_(ids)).order_by(TAGS.c.tag)
        for image_id, tag in session.execute(query):
            found.setdefault(image_id, []).append(tag)
    return found
