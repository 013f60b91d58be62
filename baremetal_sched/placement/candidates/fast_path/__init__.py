"""The answer to plain requests by one statement, beside the search that answers every request.

``plain_requests.answer`` is the only entry, and ``[placement] candidates_fast_path`` the switch: without it the answers
are the same, and take longer. ``compiled_queries`` makes one statement of all requests of the same form.

May import the whole search. No module of the search imports this package; ``api/allocation_candidates`` calls it.
"""
