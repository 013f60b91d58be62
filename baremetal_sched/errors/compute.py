"""Errors of flavors and servers."""

from baremetal_sched.errors import InvalidError


class InvalidExtraSpec(InvalidError):
    """An extra spec is refused; ``reason`` is a sentence that says what is accepted."""

    template = "Extra spec '{key}' is not valid: {reason}"


class TraitConflict(InvalidError):
    """The image requires a trait that the flavor forbids."""

    template = (
        "The image requires {traits}, which the flavor forbids. Use another image or another flavor, or remove "
        "'trait:NAME' from one of them."
    )


class NothingRequested(InvalidError):
    """The request names no resources where placement requires some."""

    template = "{message}"
