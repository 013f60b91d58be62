"""The projects that an image is shared with. The owner adds and removes them; each accepts or rejects the image
itself."""

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Image, ImageMember
from baremetal_sched.errors.image import (
    ImageChangeForbidden,
    ImageMemberExists,
    ImageMemberNotFound,
    TooManyOfAnImage,
)
from baremetal_sched.image import images
from baremetal_sched.image.access import PENDING, SHARED, ImageRequester, is_owner, require

MOST_MEMBERS = 128


def list_all(session: Session, ident: str, requester: ImageRequester) -> Sequence[ImageMember]:
    """The members of an image, or just the requester if the image is not its own.

    Raises ImageNotFound, ImageChangeForbidden if the image is not shared.
    """
    image = images.get(session, ident, requester)
    require(requester, "get_members", image, "list the members of")
    if image.visibility != SHARED:
        raise ImageChangeForbidden(
            message=f"Not allowed to list members for image {image.uuid}: Only shared images have members."
        )
    query = select(ImageMember).where(ImageMember.image_id == image.id).order_by(ImageMember.id)
    if not is_owner(requester, image.owner):
        query = query.where(ImageMember.member == requester.project_id)
    return session.scalars(query).all()


def get(session: Session, ident: str, member: str, requester: ImageRequester) -> ImageMember:
    """One member. Raises ImageNotFound, ImageMemberNotFound, also if it is another project than the requester."""
    image = images.get(session, ident, requester)
    is_known = member == requester.project_id or is_owner(requester, image.owner)
    if not is_known or not requester.may("get_member", image):
        raise ImageMemberNotFound(member=member, image=image.uuid)
    return _find(session, image.id, image.uuid, member)


def add(session: Session, ident: str, member: str, requester: ImageRequester) -> ImageMember:
    """Share an image with a project.

    Raises ImageNotFound, ImageChangeForbidden, ImageMemberExists, TooManyOfAnImage.
    """
    image = _find_to_share(session, ident, requester, "create", "add_member")
    if session.scalar(select(ImageMember.id).where(ImageMember.image_id == image.id, ImageMember.member == member)):
        raise ImageMemberExists(member=member, image=image.uuid)
    count = session.scalar(select(func.count()).where(ImageMember.image_id == image.id)) or 0
    if count >= MOST_MEMBERS:
        raise TooManyOfAnImage(things="members", count=count + 1, limit=MOST_MEMBERS)
    now = utcnow()
    row = ImageMember(image_id=image.id, member=member, status=PENDING, created_at=now, updated_at=now)
    session.add(row)
    return row


def set_status(session: Session, ident: str, member: str, status: str, requester: ImageRequester) -> ImageMember:
    """Note whether a project accepts an image; the project itself says so, or an administrator.

    Raises ImageNotFound, ImageMemberNotFound, ImageChangeForbidden.
    """
    image = images.get(session, ident, requester)
    if member != requester.project_id and not is_owner(requester, image.owner):
        raise ImageMemberNotFound(member=member, image=image.uuid)
    row = _find(session, image.id, image.uuid, member, for_change=True)
    if not requester.may("modify_member", image):
        raise ImageChangeForbidden(
            message=f"You are not permitted to modify 'status' on member {member} of this image."
        )
    row.status = status
    row.updated_at = utcnow()
    return row


def remove(session: Session, ident: str, member: str, requester: ImageRequester) -> None:
    """Stop sharing an image with a project. Raises ImageNotFound, ImageChangeForbidden, ImageMemberNotFound."""
    image = _find_to_share(session, ident, requester, "delete", "delete_member")
    session.delete(_find(session, image.id, image.uuid, member, for_change=True))


def _find_to_share(session: Session, ident: str, requester: ImageRequester, doing: str, rule: str) -> Image:
    image = images.find_for_change(session, ident, requester, f"{doing} members of", rule)
    if image.visibility != SHARED:
        raise ImageChangeForbidden(
            message=f"Not allowed to {doing} members for image {image.uuid}. Only shared images have members."
        )
    return image


def _find(session: Session, image_id: int, uuid: str, member: str, *, for_change: bool = False) -> ImageMember:
    query = select(ImageMember).where(ImageMember.image_id == image_id, ImageMember.member == member)
    row = session.scalars(query.with_for_update() if for_change else query).first()
    if row is None:
        raise ImageMemberNotFound(member=member, image=uuid)
    return row
