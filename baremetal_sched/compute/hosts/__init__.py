"""The machine of a server: its choice and claim, the data for its deployment, and the effect of its changes on the
server.

May import ``flavors``.
"""
