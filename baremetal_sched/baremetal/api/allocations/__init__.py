"""Views of allocations."""
