"""Permissions to see, change and share an image: those of the owner and administrators, and of the operator's rules.

A ``Requester`` has the facts about a caller; the API makes one of each request.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, exists, or_, true

from baremetal_sched.db.models import Image, ImageMember
from baremetal_sched.errors.image import ImageChangeForbidden
from baremetal_sched.image.records import ImageRecord

PUBLIC = "public"
COMMUNITY = "community"
SHARED = "shared"
PRIVATE = "private"
_NOUNS = {PUBLIC: "an image public", COMMUNITY: "an image a community image"}
VISIBILITIES = (COMMUNITY, PUBLIC, PRIVATE, SHARED)

#: Rules that allow all who see the image.
_OF_ALL_WHO_SEE = ("get_image", "download_image", "get_members", "get_member")
PUBLICIZE = "publicize_image"
COMMUNITIZE = "communitize_image"

PENDING = "pending"
ACCEPTED = "accepted"
REJECTED = "rejected"
MEMBER_STATUSES = (PENDING, ACCEPTED, REJECTED)


#: Returns whether the rule with this name allows a caller to access an image, by the facts of ``target_of``.
Rules = Callable[[str, Mapping[str, str]], bool]


#: An image, as a row or as a record: its owner and its visibility decide.
Owned = Image | ImageRecord


@dataclass(frozen=True)
class ImageRequester:
    """The caller's project, and whether the caller is an administrator, who sees all images.

    ``rules`` decide; without them, owners and administrators may do everything.
    """

    project_id: str | None
    is_admin: bool = False
    rules: Rules | None = None

    def may(self, rule: str, image: Owned) -> bool:
        """Return whether the rule allows the requester, who sees the image."""
        if self.rules is not None:
            return self.rules(rule, self.target_of(image))
        if rule == PUBLICIZE:
            return self.is_admin
        if rule == "modify_member":
            return self.is_admin or "member_id" in self.target_of(image)
        return rule in _OF_ALL_WHO_SEE or is_owner(self, image.owner)

    def target_of(self, image: Owned) -> dict[str, str]:
        """Return the facts that rules compare with the requester. Missing values are left out, so that they never
        match."""
        is_own = image.owner is not None and image.owner == self.project_id
        is_member = image.visibility == SHARED and not is_own and not self.is_admin
        found = {
            "project_id": image.owner,
            "owner": image.owner,
            "visibility": image.visibility,
            "member_id": self.project_id if is_member else None,
        }
        return {name: value for name, value in found.items() if value is not None}


#: May do everything: the service itself.
EVERYTHING = ImageRequester(None, is_admin=True)


def visible(requester: ImageRequester) -> ColumnElement[bool]:
    """Condition: the requester may see the image: public, community, its own, or shared with it."""
    if requester.is_admin:
        return true()
    known = Image.visibility.in_((PUBLIC, COMMUNITY))
    if requester.project_id is None:
        return known
    return or_(known, Image.owner == requester.project_id, shared_with(requester.project_id))


def shared_with(project_id: str, status: str | None = None) -> ColumnElement[bool]:
    """Condition: the image is shared with the project, which answered with ``status`` (None: in whatever way)."""
    membership = [ImageMember.image_id == Image.id, ImageMember.member == project_id]
    if status is not None:
        membership.append(ImageMember.status == status)
    return and_(Image.visibility == SHARED, exists().where(*membership))


def listed(requester: ImageRequester, visibility: str | None, member_status: str) -> list[ColumnElement[bool]]:
    """Return the conditions that the image is in the requester's list.

    Shared images of others are listed once the project accepted them (``member_status`` "all": in any status),
    community images of others only if ``visibility`` asks for them; "all" asks for every visibility.
    """
    conditions: list[ColumnElement[bool]] = []
    own = true() if requester.project_id is None else Image.owner == requester.project_id
    if not requester.is_admin:
        known = Image.visibility.in_((PUBLIC, COMMUNITY))
        if requester.project_id is None:
            conditions.append(known)
        else:
            status = None if member_status == "all" else member_status
            conditions.append(or_(known, own, shared_with(requester.project_id, status)))
    if visibility is None:
        others = Image.visibility != COMMUNITY
        conditions.append(others if requester.project_id is None else or_(own, others))
    elif visibility != "all":
        conditions.append(Image.visibility == visibility)
    return conditions


def is_owner(requester: ImageRequester, owner: str | None) -> bool:
    """Return whether an image of ``owner`` is the requester's own, as any image is an administrator's."""
    return requester.is_admin or (owner is not None and owner == requester.project_id)


def require(requester: ImageRequester, rule: str, image: Owned, doing: str) -> None:
    """Raise ImageChangeForbidden unless the rule allows the requester; ``doing`` names the change."""
    if not requester.may(rule, image):
        raise ImageChangeForbidden(message=f"You are not permitted to {doing} this image.")


def require_may_publish(requester: ImageRequester, image: Owned, visibility: str) -> None:
    """Raise ImageChangeForbidden if the requester may not give an image this visibility."""
    rule = {PUBLIC: PUBLICIZE, COMMUNITY: COMMUNITIZE}.get(visibility)
    if rule is not None and not requester.may(rule, image):
        raise ImageChangeForbidden(message=f"You are not authorized to make {_NOUNS[visibility]}.")
