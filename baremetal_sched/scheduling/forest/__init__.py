"""Requests that several providers of a tree serve together, tree by tree: why none does, which is closest."""
