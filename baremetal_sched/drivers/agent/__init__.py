"""Interfaces that have an agent on the machine do the work."""
