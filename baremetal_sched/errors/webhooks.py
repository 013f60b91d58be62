"""Errors of webhooks."""

from baremetal_sched.errors import ConflictError, InvalidError, NotFoundError


class WebhookNotFound(NotFoundError):
    template = "There is no webhook {webhook}."


class WebhookExists(ConflictError):
    """Names are unique within a project."""

    template = "There is a webhook {name} of this project already."


class TooManyWebhooks(ConflictError):
    template = (
        "There are {limit} webhooks of this project, which is the limit ([events] most_webhooks). Delete one, or let "
        "one receiver pass events on."
    )


class MakerGone(ConflictError):
    """``reason``: a sentence that says why the maker of a webhook has no rights any more."""

    template = "{reason} A user of its project can resume it, and becomes its maker."


class InvalidWebhookUrl(InvalidError):
    """``reason`` is a sentence without the URL, which may have a token in it."""

    template = "Invalid input for field/attribute url. {reason}"
