"""The statements of the search: ``conditions`` on providers, the search for a ``single_provider`` that gives all,
the roots of trees that may have candidates (``anchors``), and the trees themselves (``tree_loader``), which are read as
rows (``provider_rows``) and made into providers as far as the request asks about them (``row_parser``).

May import ``request``, ``trees``, ``placement`` and ``db``.
"""
