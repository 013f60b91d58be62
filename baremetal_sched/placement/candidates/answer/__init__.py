"""The JSON that is written: allocation requests (``response``) and what is told about providers (``summaries``).

May import ``request``, ``trees``, ``sql``, ``placement`` and ``db``.
"""
