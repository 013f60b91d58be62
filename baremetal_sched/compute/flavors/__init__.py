"""Flavors with their extra specs, and the request to placement that a flavor and an image make."""
