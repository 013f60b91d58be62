"""Domains: machines that share a rack, a row, a switch. A domain is the aggregate of placement with its UUID.

A node that is in a domain is in all domains above it, too, and in at most one domain of each level.
Order of locks: domains, from below upwards; then nodes, by id; then their providers.

May import ``nodes`` and ``provider``.
"""
