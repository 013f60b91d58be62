"""The fleet in numbers: for the pages, and for Prometheus.

May import every other room.
"""
