"""Making a booking: machines that are free for the whole of it, all or none."""

from dataclasses import dataclass

from baremetal_sched.baremetal.matching.request import MachineRequest


@dataclass(frozen=True)
class Window:
    """From one moment until another, in seconds since 1970."""

    starts_at: float
    ends_at: float


@dataclass(frozen=True)
class NewBooking:
    """The requested booking: ``request`` is for ``several`` machines, if only for one. ``starts_at`` is None for one
    that starts now. ``digest`` identifies the body. ``is_bound``: the limits of the settings apply."""

    uuid: str
    name: str | None
    project: str
    user: str
    request: MachineRequest
    starts_at: float | None
    ends_at: float
    digest: str
    is_bound: bool = True
