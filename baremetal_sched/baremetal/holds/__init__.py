"""Holds: reasons why a node must not be used, who asserted them, from when to when.

``rules`` says who may do what, and what follows from the holds of a node; it is plain Python. ``holds`` releases
them and has the node follow, ``asserting`` and ``changing`` add and change them, all in the transaction that has the
node's row locked. ``due`` begins and ends holds at their planned times.
``guards`` says what holds allow and refuse, ``hold_list`` lists the holds of many nodes, and ``hold_audit`` compares
holds with the flags of nodes.
"""
