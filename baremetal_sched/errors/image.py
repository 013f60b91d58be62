"""Errors of images. Their texts are part of the image API."""

from baremetal_sched import commands
from baremetal_sched.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError


class ImageNotFound(NotFoundError):
    """The image does not exist, or the caller may not see it."""

    template = "No image found with ID {image}"


class ImageNotFoundForDelete(ImageNotFound):
    template = "Failed to find image {image} to delete"


class ImageAlreadyExists(ConflictError):
    template = "Image ID {image} already exists!"


class ImageProtected(ForbiddenError):
    template = "Image {image} is protected and cannot be deleted."


class ImageChangeForbidden(ForbiddenError):
    """The caller may see the image, but not make this change; the caller of this class supplies the message."""


class InvalidImage(InvalidError):
    """A request contains invalid data of an image; the caller supplies the message."""


class InvalidImageProperty(InvalidError):
    """A property of an image is refused; ``reason`` is a sentence that says which values are accepted."""

    template = "Image property '{key}' is not valid: {reason}"


class TooManyOfAnImage(InvalidError):
    """More properties, tags or members than an image may have."""

    template = (
        "The limit has been exceeded on the number of allowed image {things}. Attempted: {count}, Maximum: {limit}"
    )


class ImageConflict(ConflictError):
    """The image's state does not allow the request; the caller supplies the message."""


class ImageDataRefused(InvalidError):
    """Image data was uploaded, but this service stores none."""

    template = (
        "This service stores no image data. Put the data on a web server, and set its URL with an import "
        '(POST /v2/images/{image}/import, method "web-download", with its uri) or with the property image_source. The '
        "image's record is still there, and can be booted as it is. To delete it: " + commands.DELETE_IMAGE
    )


class ImageDeactivated(ForbiddenError):
    template = "The requested image has been deactivated. Image data download is forbidden."


class ImageMemberNotFound(NotFoundError):
    template = "{member} not found in the member list of the image {image}."


class ImageMemberExists(ConflictError):
    template = "Member {member} is duplicated for image {image}"


class ImageTagNotFound(NotFoundError):
    template = "Image {image} does not have a tag '{tag}'"
