"""Nodes, and everything that belongs to them.

Directly here are the modules that every room uses and that import no room: the state machine, names, rows, secrets, and
whose nodes a request may see. The rooms; each may import the rooms below it:

- ``fleet``: all nodes in numbers.
- ``inspection``: what agents report, with rules and hooks.
- ``provisioning``: verbs and the state machine's work, steps, runbooks.
- ``hardware``: power, management, BIOS, firmware, RAID, consoles. ``network``: ports, port groups, VIFs, volumes.
- ``allocations``: a node for a request.
- ``matching``: which nodes meet which conditions, and why not.
- ``nodes``: the resource itself.
- ``provider``: a node as a resource provider in placement.
- ``conductors``: who is alive, who owns which node, work and calls of drivers.
- ``holds``: reasons why a node must not be used, who asserted them, from when to when.
- ``schemas``: what clients may send.

``api`` has the same rooms.
"""
