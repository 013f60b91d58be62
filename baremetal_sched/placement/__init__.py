"""The placement engine: resource providers, inventories, allocations, and the search for allocation candidates.

It does not know nodes; the bare metal side projects them into it (``baremetal.provider.projection``).
"""
