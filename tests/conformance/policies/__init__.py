"""Who may do what with the bare metal API, compared with Ironic.

``facts.json`` has what Ironic's own enforcer decides of each of its rules, for each caller and kind of node, and which
requests its rules are documented for. The matrix sends a request to every route as every caller, for every kind of
node, and computes from the rule that our route table names and from these facts what must come of it.

``python -m tests.conformance.policies record PYTHON`` asks the enforcer again, with a Python that has Ironic.
"""
