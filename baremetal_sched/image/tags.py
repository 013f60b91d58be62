"""Single tags of an image."""

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from baremetal_sched.db.insert import insert_missing
from baremetal_sched.db.results import rows_changed
from baremetal_sched.errors.image import ImageTagNotFound, InvalidImage, TooManyOfAnImage
from baremetal_sched.image import images
from baremetal_sched.image.access import Requester
from baremetal_sched.image.records import TAGS
from baremetal_sched.image.schemas.images import LONGEST_NAME, require_trimmed


def add(session: Session, ident: str, tag: str, requester: Requester) -> None:
    """Give the image a tag, if it has it not yet.

    Raises ImageNotFound, ImageChangeForbidden, InvalidImage, TooManyOfAnImage.
    """
    if len(tag) > LONGEST_NAME:
        raise InvalidImage(message=f"Provided object does not match schema 'image': '{tag[:80]}…' is too long")
    require_trimmed("Tags", tag)
    image = images.find_for_change(session, ident, requester)
    insert_missing(session, TAGS, [{"image_id": image.id, "tag": tag}])
    count = session.scalar(select(func.count()).where(TAGS.c.image_id == image.id)) or 0
    if count > images.MOST_TAGS:
        raise TooManyOfAnImage(things="tags", count=count, limit=images.MOST_TAGS)
    images.touch(session, image)


def remove(session: Session, ident: str, tag: str, requester: Requester) -> None:
    """Take a tag from the image. Raises ImageNotFound, ImageChangeForbidden, ImageTagNotFound."""
    image = images.find_for_change(session, ident, requester)
    if not rows_changed(session.execute(delete(TAGS).where(TAGS.c.image_id == image.id, TAGS.c.tag == tag))):
        raise ImageTagNotFound(image=image.uuid, tag=tag)
    images.touch(session, image)
