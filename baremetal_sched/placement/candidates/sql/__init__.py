"""The statements of the search: ``conditions`` on providers, the search for a ``single_provider`` that gives all,
the roots of trees that may have candidates (``anchors``), and the rows of trees, which are made into providers
as far as the request asks about them (``provider_rows``).

May import ``request``, ``trees``, ``placement`` and ``db``.
"""
