"""The hardware of a node: power, management, BIOS settings, firmware, RAID, consoles, virtual media, vendor methods.

May import ``allocations`` and the rooms below, but not ``network``.
"""
