"""Holds: why a node is not to be used, by whom, from when to when.

``rules`` says who may do what, and what follows from the holds of a node; it is plain Python. ``holds`` asserts and
releases, in the transaction that has the node's row locked. ``due`` is what begins and ends at a planned time.
``guards`` is what holds allow and refuse, ``hold_list`` has the holds of many nodes, and
``hold_audit`` compares holds with the flags of nodes.
"""
