"""Servers as a resource: their lists, creation and deletion, and what is done to a server that has a machine.

May import ``hosts`` and ``flavors``.
"""
