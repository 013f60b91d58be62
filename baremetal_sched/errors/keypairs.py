"""Errors of key pairs."""

from baremetal_sched.errors import ConflictError, InvalidError, NotFoundError


class KeypairNotFound(NotFoundError):
    template = "Keypair {name} not found for user {user}"


class KeypairMarkerNotFound(InvalidError):
    template = "Marker {marker} could not be found."


class KeypairExists(ConflictError):
    template = "Key pair '{name}' already exists."


class InvalidKeypair(InvalidError):
    """A name or a key is not accepted; ``reason`` is a sentence that says why."""

    template = "Keypair data is invalid: {reason}"
