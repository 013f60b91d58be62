"""Allocations: a request for a node, the choice among the nodes that meet it, and the claim in placement.

May import ``matching``, ``nodes`` and the rooms below.
"""
