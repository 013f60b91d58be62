"""Interfaces of machines that lack something, or for which somebody else does it."""
