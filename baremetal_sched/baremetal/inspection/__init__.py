"""Inspection: agents and what they report, hooks and rules that are applied to it, discovery, and the inventory.

May import ``provisioning`` and the rooms below. ``hooks`` and ``rules`` work on documents, without a database.
"""
