"""The machine of a server: which is chosen and claimed, what it is told, and what a change of it means for the server.

May import ``flavors``.
"""
