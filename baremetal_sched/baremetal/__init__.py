"""Nodes, and everything that belongs to them.

Directly here are the modules that every room uses and that import no room: states, names, machines as drivers see them,
and whose nodes a request may see. The rooms, each of which may import those below it:

- ``fleet``: all nodes in numbers.
- ``inspection``: what agents report, with rules and hooks.
- ``provisioning``: verbs and the state machine's work, steps, runbooks.
- ``hardware``: power, management, BIOS, firmware, RAID, consoles. ``network``: ports, port groups, VIFs, volumes.
- ``allocations``: a node for a request.
- ``matching``: which nodes meet which conditions, and why not.
- ``nodes``: the resource itself.
- ``provider``: a node as a resource provider in placement.
- ``conductors``: who is alive, who owns which node, work and calls of drivers.

``api`` and ``schemas`` have the same rooms.
"""
