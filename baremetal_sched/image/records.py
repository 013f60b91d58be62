"""An image as a plain record, and how images are read: three statements, however many there are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, select
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


def select_record(session: Session, condition: ColumnElement[bool]) -> ImageRecord | None:
    """The image that meets ``condition``, if there is one. It and its properties are of one moment, as they decide
    where a server may be.

    SELECT i.*, p.name, p.value FROM images i LEFT JOIN image_properties p ON p.image_id = i.id WHERE … ORDER BY p.name
    """
    query = (
        select(*COLUMNS, PROPERTIES.c.name.label("property"), PROPERTIES.c.value.label("value_of_property"))
        .outerjoin_from(IMAGES, PROPERTIES, PROPERTIES.c.image_id == IMAGES.c.id)
        .where(condition)
        .order_by(PROPERTIES.c.name)
    )
    rows = session.execute(query).mappings().all()
    if not rows:
        return None
    properties = {row["property"]: row["value_of_property"] for row in rows if row["property"] is not None}
    image = {column.name: rows[0][column.name] for column in COLUMNS}
    return _record(image, properties, _tags(session, [image["id"]]).get(image["id"], []))


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
