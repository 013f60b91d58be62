"""Conductors: which are alive, which of them owns which node, and what they are asked to do (work, and calls of
drivers).

May import no other room.
"""
