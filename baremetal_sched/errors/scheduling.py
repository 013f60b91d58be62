"""Errors of the scheduling API."""

from baremetal_sched.errors import UnavailableError


class TooManyExplanations(UnavailableError):
    template = "{limit} explanations are being worked on, which is the limit of this process. Try again in a moment."


class ExplanationTookTooLong(UnavailableError):
    template = (
        "The explanation was not ready within {seconds} seconds and was stopped. Try again later, or ask for fewer "
        "conditions; the operator can lower [scheduling] explain_max_nodes, so that only a sample is examined, or "
        "raise explain_time_limit."
    )
