"""Which nodes meet which conditions, counted in one scan, and why a node is available or not.

For allocations, servers and explanations. May import ``nodes``, ``provider`` and ``conductors``.
"""
