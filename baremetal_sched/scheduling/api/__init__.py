"""The scheduling API."""
