"""Provisioning: the verbs of the API, how work on a node ends, and the steps of deploy templates and runbooks.

May import ``hardware``, ``network`` and the rooms below.
"""
