"""Errors of webhooks."""

from baremetal_sched import commands
from baremetal_sched.errors import ConflictError, InvalidError, NotFoundError, UnavailableError


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
    """``reason``: a sentence that says why the maker of a webhook has lost its rights."""

    template = "{reason} A user of its project can resume it, and becomes its maker."


class DomainOfWebhookGone(ConflictError):
    template = "There is no domain {domain} any more. Give the webhook another domain, or none, and resume it."


class DomainsOfWebhooksNotServed(UnavailableError):
    template = (
        "A webhook cannot have a domain during an upgrade, because the release before this one would send all events. "
        "When all processes of that release have ended, run: "
        f"{commands.FINISH_UPGRADE}"
    )


class InvalidWebhookUrl(InvalidError):
    """``reason`` is a sentence without the URL, which may have a token in it."""

    template = "Invalid input for field/attribute url. {reason}"


class WebhookTestUnderWay(ConflictError):
    """``retry_after``: seconds until it is over at the latest."""

    template = "A webhook of this project is being tested already. Try again when that is done."


class TooManyWebhookTests(ConflictError):
    """``retry_after``: seconds until the next may begin."""

    template = "Webhooks of a project are tested at most {limit} times a minute. Try again in {retry_after} seconds."


class WebhookTestNotSent(UnavailableError):
    template = "The test was not sent: {reason}. Try again in a moment."
