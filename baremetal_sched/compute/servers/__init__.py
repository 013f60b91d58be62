"""Servers as a resource: their lists, creation and deletion, and operations on a server that has a machine.

May import ``hosts`` and ``flavors``.
"""
