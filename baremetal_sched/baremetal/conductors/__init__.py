"""Conductors: which are alive, which of them owns which node, and their tasks (work, and calls of drivers).

May import no other room.
"""
