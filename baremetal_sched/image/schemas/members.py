"""The schemas of the members of an image, and of what clients send about them."""

from typing import Any

from baremetal_sched.errors.image import InvalidImage
from baremetal_sched.image.access import MEMBER_STATUSES
from baremetal_sched.image.schemas.images import LONGEST_NAME, require_trimmed

MEMBER: dict[str, Any] = {
    "name": "member",
    "properties": {
        "created_at": {"type": "string", "description": "When the image was shared with the project"},
        "image_id": {
            "type": "string",
            "description": "The image's UUID",
            "pattern": "^([0-9a-fA-F]){8}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){12}$",
        },
        "member_id": {"type": "string", "description": "The project that the image is shared with"},
        "schema": {"readOnly": True, "type": "string"},
        "status": {
            "type": "string",
            "description": "Whether the project accepts the image",
            "enum": list(MEMBER_STATUSES),
        },
        "updated_at": {"type": "string", "description": "When that was said"},
    },
}

MEMBERS: dict[str, Any] = {
    "name": "members",
    "properties": {
        "members": {"type": "array", "items": MEMBER},
        "schema": {"type": "string"},
    },
    "links": [{"rel": "describedby", "href": "{schema}"}],
}


def load_new(body: Any) -> str:
    """The project that a body shares an image with. Raises InvalidImage."""
    if not isinstance(body, dict):
        raise InvalidImage(message='Expected a member in the form: {"member": "project_id"}')
    if "member" not in body:
        raise InvalidImage(message="Member to be added not specified")
    member = body["member"]
    if not isinstance(member, str):
        raise InvalidImage(message="Member can't be empty" if not member else "A member is a text: a project's id")
    if not member:
        raise InvalidImage(message="Member can't be empty")
    require_trimmed("A member", member)
    if len(member) > LONGEST_NAME:
        raise InvalidImage(message=f"Maximum length of a member is {LONGEST_NAME} characters")
    return member


def load_status(body: Any) -> str:
    """Return the member status in a body. Raises InvalidImage."""
    if not isinstance(body, dict):
        raise InvalidImage(message='Expected a status in the form: {"status": "status"}')
    if "status" not in body:
        raise InvalidImage(message="Status not specified")
    status = body["status"]
    if status not in MEMBER_STATUSES:
        raise InvalidImage(message='Incorrect request: Status must be "pending", "accepted" or "rejected".')
    return str(status)
