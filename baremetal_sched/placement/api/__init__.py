"""The Placement API; all its routes are in routes.py."""
