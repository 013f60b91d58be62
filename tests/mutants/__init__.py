"""Planted defects: each fence of the package is taken away, and a test has to notice. ``python -m tests.mutants``."""
