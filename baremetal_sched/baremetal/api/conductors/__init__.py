"""Views of conductors and drivers."""
