"""The placement engine: resource providers, what they have, who holds it, and what fits a request.

It knows nothing of nodes; the bare metal side tells it (``baremetal.projection``).
"""
