"""Errors of flavors and servers."""

from baremetal_sched.errors import InvalidError


class InvalidExtraSpec(InvalidError):
    """An extra spec that is refused; ``reason`` is a sentence that says what would be right."""

    template = "Extra spec '{key}' is not valid: {reason}"


class TraitConflict(InvalidError):
    """The image requires what the flavor forbids."""

    template = (
        "The image requires {traits}, which the flavor forbids. Use another image or another flavor, or remove "
        "'trait:NAME' from one of them."
    )


class NothingRequested(InvalidError):
    """A request that placement cannot answer, as it names no resources where there have to be some."""

    template = "{message}"
