"""Planted defects: each fence of the package is taken away, and a test must notice. ``python -m tests.mutants``."""
