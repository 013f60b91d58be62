"""Schemas of requests to the scheduling API, and of its answers."""
