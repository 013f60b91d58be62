"""Descriptions of vendor methods, which only some hardware has."""

from dataclasses import dataclass


@dataclass(frozen=True)
class VendorMethod:
    """A method. One that is ``asynchronous`` is called by a conductor, after the answer."""

    description: str
    http_methods: tuple[str, ...] = ("POST",)
    asynchronous: bool = True
    require_exclusive_lock: bool = True
