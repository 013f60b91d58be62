"""How nodes are connected: ports, port groups, virtual interfaces, and remote volumes.

May import ``allocations`` and the rooms below, but not ``hardware``.
"""
