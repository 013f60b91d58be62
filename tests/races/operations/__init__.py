"""What meets: requests that change something, at least one for each route that does."""

from tests.races.operations import baremetal, compute, image, nodes, placement
from tests.races.operations.operation import Operation

ALL = (*nodes.OPERATIONS, *placement.OPERATIONS, *compute.OPERATIONS, *image.OPERATIONS, *baremetal.OPERATIONS)

#: By name.
OPERATIONS: dict[str, Operation] = {each.name: each for each in ALL}
