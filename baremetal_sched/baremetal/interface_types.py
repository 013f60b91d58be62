"""The types of interfaces that a node has."""

from baremetal_sched.options import drivers

#: The first microversion (minor) that shows interfaces of nodes, unless they came later.
_SINCE = 31
_OTHERS_SINCE = {"network": 20, "storage": 33, "rescue": 38, "bios": 40, "firmware": 86}

#: Interface types, with the first microversion (minor) that shows them.
INTERFACE_TYPES: dict[str, int] = {kind: _OTHERS_SINCE.get(kind, _SINCE) for kind in drivers.INTERFACE_TYPES}
