"""Errors of images. Their texts are part of the image API."""

from baremetal_sched.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError


class ImageNotFound(NotFoundError):
    """There is no such image, or the caller may not see it."""

    template = "No image found with ID {image}"


class ImageNotFoundForDelete(ImageNotFound):
    template = "Failed to find image {image} to delete"


class ImageAlreadyExists(ConflictError):
    template = "Image ID {image} already exists!"


class ImageProtected(ForbiddenError):
    template = "Image {image} is protected and cannot be deleted."


class ImageChangeForbidden(ForbiddenError):
    """The caller may see the image, but not do this to it; the caller of this class says what."""

    template = "{message}"


class InvalidImage(InvalidError):
    """What a request says of an image, or asks for, makes no sense; the caller says why."""

    template = "{message}"


class InvalidImageProperty(InvalidError):
    """A property of an image that is refused; ``reason`` is a sentence that says what would be right."""

    template = "Image property '{key}' is not valid: {reason}"


class TooManyOfAnImage(InvalidError):
    """More properties, tags or members than an image may have."""

    template = (
        "The limit has been exceeded on the number of allowed image {things}. Attempted: {count}, Maximum: {limit}"
    )


class ImageConflict(ConflictError):
    """The image's state, or what it has, does not allow the request; the caller says why."""

    template = "{message}"


class ImageDataRefused(InvalidError):
    """Data were sent for an image: this service keeps none."""

    template = (
        "This service keeps no image data. Put the data on a web server, and say where with an import "
        '(POST /v2/images/{image}/import, method "web-download", with its uri) or with the property image_source.'
    )


class ImageDeactivated(ForbiddenError):
    template = "The requested image has been deactivated. Image data download is forbidden."


class ImageMemberNotFound(NotFoundError):
    template = "{member} not found in the member list of the image {image}."


class ImageMemberExists(ConflictError):
    template = "Member {member} is duplicated for image {image}"


class ImageTagNotFound(NotFoundError):
    template = "Image {image} does not have a tag '{tag}'"
