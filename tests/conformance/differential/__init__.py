"""The same random calls to us and to a running OpenStack Placement, and what they answer differently.

``python -m tests.conformance.differential --calls 10000 --seed 1 --original-python /path/to/venv/bin/python``
"""
