"""Nodes as a resource: their fields, lists and changes, with their traits, chassis and shards.

May import ``provider`` and ``conductors``. Two functions reach further: deleting a node stops its console, and removing
the instance of a node releases its allocation.
"""
