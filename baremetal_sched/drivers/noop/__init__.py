"""Interfaces of machines that lack a feature, or whose feature is managed elsewhere."""
