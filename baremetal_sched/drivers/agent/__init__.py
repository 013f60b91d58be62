"""Interfaces that need an agent on the machine, and the commands that they have for it."""
