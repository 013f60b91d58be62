"""Images: created, read, changed and deleted.

An image is ``queued`` until an upload (an empty one: no data are kept) or an import makes it ``active``; an active one
can be ``deactivated``, and then boots nothing until it is reactivated.
"""

import uuid as uuid_module
from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import and_, exists, func, insert, select
from sqlalchemy import delete as sql_delete
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import flag_modified

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.compiled import insert_missing
from baremetal_sched.db.models import Image
from baremetal_sched.db.results import rows_changed
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors.image import (
    ImageAlreadyExists,
    ImageChangeForbidden,
    ImageNotFound,
    ImageNotFoundForDelete,
    ImageProtected,
    ImageTagNotFound,
    InvalidImage,
    TooManyOfAnImage,
)
from baremetal_sched.image import properties as image_properties
from baremetal_sched.image.access import EVERYTHING, SHARED, ImageRequester, require, require_may_publish, visible
from baremetal_sched.image.patch import Change, Changed, apply
from baremetal_sched.image.records import PROPERTIES, TAGS, ImageRecord, select_record
from baremetal_sched.image.schemas import LONGEST_NAME, require_trimmed

QUEUED = "queued"
ACTIVE = "active"
DEACTIVATED = "deactivated"

#: Most properties, and most tags, of an image.
MOST_PROPERTIES = 128
MOST_TAGS = 128


def get(session: Session, ident: str, requester: ImageRequester = EVERYTHING) -> ImageRecord:
    """The image with this UUID, with its properties and tags. Raises ImageNotFound if the requester sees none."""
    found = select_record(session, and_(Image.uuid == canonical_uuid(ident), visible(requester)))
    if found is None or not requester.may("get_image", found):
        raise ImageNotFound(image=ident)
    return found


def find_for_change(
    session: Session, ident: str, requester: ImageRequester, doing: str = "modify", rule: str = "modify_image"
) -> Image:
    """The row of an image that ``rule`` lets the requester change, locked until the transaction ends.

    Raises ImageNotFound, ImageChangeForbidden ("You are not permitted to <doing> this image.").
    """
    query = select(Image).where(Image.uuid == canonical_uuid(ident), visible(requester)).with_for_update()
    image = session.scalars(query).first()
    if image is None or not requester.may("get_image", image):
        raise ImageNotFound(image=ident)
    require(requester, rule, image, doing)
    return image


def create(
    session: Session,
    requester: ImageRequester,
    fields: Mapping[str, Any],
    properties: Mapping[str, str],
    tags: Collection[str],
) -> ImageRecord:
    """A new image, ``queued``, of the requester if ``fields`` names no owner.

    Raises ImageAlreadyExists, ImageChangeForbidden, InvalidImageProperty, TooManyOfAnImage.
    """
    values = {"owner": requester.project_id, "visibility": SHARED, **fields}
    uuid = canonical_uuid(values.pop("id", None) or str(uuid_module.uuid4()))
    now = utcnow()
    image = Image(uuid=uuid, status=QUEUED, created_at=now, updated_at=now, **values)
    if not requester.may("add_image", image):
        raise ImageChangeForbidden(
            message=f"You are not permitted to create images owned by '{values['owner']}'.",
        )
    require_may_publish(requester, image, image.visibility)
    image_properties.check(properties)
    if session.scalar(select(exists().where(Image.uuid == uuid))):
        raise ImageAlreadyExists(image=uuid)
    session.add(image)
    session.flush()
    _write_properties(session, image.id, {}, properties)
    _write_tags(session, image.id, set(), set(tags))
    return get(session, image.uuid)


def update(session: Session, ident: str, changes: Collection[Change], requester: ImageRequester) -> ImageRecord:
    """Apply a PATCH, all of it or nothing; returns the image as it is then.

    Raises ImageNotFound, ImageChangeForbidden, ImageConflict, InvalidImageProperty, TooManyOfAnImage.
    """
    row = find_for_change(session, ident, requester)
    before = get(session, ident)
    after = apply(before, changes)
    if after.properties != before.properties:
        image_properties.check(after.properties)
    _require_may_change(requester, before, after)
    for name, value in after.fields.items():
        setattr(row, name, value)
    _write_properties(session, row.id, before.properties, after.properties)
    _write_tags(session, row.id, set(before.tags), set(after.tags))
    if changes:
        touch(session, row)
    return get(session, ident)


def delete(session: Session, ident: str, requester: ImageRequester) -> None:
    """Delete an image. Servers that were booted from it keep their own copy.

    Raises ImageNotFound, ImageChangeForbidden, ImageProtected.
    """
    try:
        image = find_for_change(session, ident, requester, "delete", "delete_image")
    except ImageNotFound:
        raise ImageNotFoundForDelete(image=ident) from None
    if image.protected:
        raise ImageProtected(image=image.uuid)
    session.delete(image)


def touch(session: Session, image: Image) -> None:
    """Note that an image, or something that belongs to it, was changed now. Raises StaleDataError if it has been
    changed since."""
    image.updated_at = utcnow()
    flag_modified(image, "updated_at")  # twice within a second, it is a change as well
    session.flush()


def _require_may_change(requester: ImageRequester, before: ImageRecord, after: Changed) -> None:
    if "owner" in after.fields and not requester.is_admin:
        raise ImageChangeForbidden(message="Owner can't be updated by non admin.")
    if after.fields.get("visibility", before.visibility) != before.visibility:
        require_may_publish(requester, before, after.fields["visibility"])
    for name in ("container_format", "disk_format"):
        if name in after.fields and before.status != QUEUED:
            raise ImageChangeForbidden(message=f"Attribute {name} can be only replaced for a queued image.")


def _write_properties(session: Session, image_id: int, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    if len(after) > max(MOST_PROPERTIES, len(before)):
        raise TooManyOfAnImage(things="properties", count=len(after), limit=MOST_PROPERTIES)
    gone = [name for name, value in before.items() if after.get(name) != value]
    new = [
        {"image_id": image_id, "name": name, "value": value}
        for name, value in after.items()
        if before.get(name) != value
    ]
    if gone:
        session.execute(
            sql_delete(PROPERTIES).where(PROPERTIES.c.image_id == image_id, PROPERTIES.c.name.in_(gone)),
        )
    if new:
        session.execute(insert(PROPERTIES), new)


def _write_tags(session: Session, image_id: int, before: set[str], after: set[str]) -> None:
    if len(after) > max(MOST_TAGS, len(before)):
        raise TooManyOfAnImage(things="tags", count=len(after), limit=MOST_TAGS)
    if before - after:
        session.execute(sql_delete(TAGS).where(TAGS.c.image_id == image_id, TAGS.c.tag.in_(before - after)))
    if after - before:
        session.execute(insert(TAGS), [{"image_id": image_id, "tag": tag} for tag in sorted(after - before)])


def add_tag(session: Session, ident: str, tag: str, requester: ImageRequester) -> None:
    """Give the image a tag, if it has it not yet.

    Raises ImageNotFound, ImageChangeForbidden, InvalidImage, TooManyOfAnImage.
    """
    if len(tag) > LONGEST_NAME:
        raise InvalidImage(message=f"Provided object does not match schema 'image': '{tag[:80]}…' is too long")
    require_trimmed("Tags", tag)
    image = find_for_change(session, ident, requester)
    insert_missing(session, TAGS, [{"image_id": image.id, "tag": tag}])
    count = session.scalar(select(func.count()).where(TAGS.c.image_id == image.id)) or 0
    if count > MOST_TAGS:
        raise TooManyOfAnImage(things="tags", count=count, limit=MOST_TAGS)
    touch(session, image)


def remove_tag(session: Session, ident: str, tag: str, requester: ImageRequester) -> None:
    """Take a tag from the image. Raises ImageNotFound, ImageChangeForbidden, ImageTagNotFound."""
    image = find_for_change(session, ident, requester)
    if not rows_changed(session.execute(TAGS.delete().where(TAGS.c.image_id == image.id, TAGS.c.tag == tag))):
        raise ImageTagNotFound(image=image.uuid, tag=tag)
    touch(session, image)
