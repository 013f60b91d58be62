"""The requests that meet: each changes something, and there is at least one for each route that does."""

from tests.races.operations import baremetal, bookings, compute, conductor, image, nodes, placement, scheduling
from tests.races.operations.operation import Operation

ALL = (
    *nodes.OPERATIONS,
    *placement.OPERATIONS,
    *compute.OPERATIONS,
    *image.OPERATIONS,
    *baremetal.OPERATIONS,
    *scheduling.OPERATIONS,
    *bookings.OPERATIONS,
    *conductor.OPERATIONS,
)

#: By name.
OPERATIONS: dict[str, Operation] = {each.name: each for each in ALL}
