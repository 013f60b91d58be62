"""The request: the query string (``query``), and the ids of the database that it stands for (``resolve``, which makes a
``resolved_request``).

May import ``placement`` and ``db``, but no other package of the search.
"""
