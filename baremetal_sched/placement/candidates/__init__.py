"""Allocation candidates: query string -> request -> search -> answer.

The entry is ``placement/api/allocation_candidates.py:list_candidates``. The packages, each with what it may import in
its docstring:

- ``request``: the query string, and the ids that its names stand for
- ``sql``: all statements but those for names
- ``trees``: the search in trees, in Python
- ``answer``: the JSON
- ``fast_path``: an annex, which answers plain requests by one statement

``search`` decides which way a request goes, one provider or trees, and where it stops.
"""
