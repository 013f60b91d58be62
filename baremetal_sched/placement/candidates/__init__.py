"""Allocation candidates: query string -> request groups -> search -> response.

A request is parsed (``query``) and its names are looked up (``resolve``), which says by ids what is ``wanted``. A plain
one is then answered by one statement (``shortcut``, which ``plans`` makes once for all of its form). For any other
``search`` decides: one provider gives all (``flat``, made of ``conditions``), or trees are found (``anchors``), read
(``world``, ``reading``, ``lines``, ``parsing``) and searched (``choosing``, by the rules of ``trees``). In a tree slots
are given providers one by one (``backtracking``, ``partial_choice``), as long as nothing shows that there is no
candidate (``bounds``, ``dead_ends``) and there is time (``time_limit``). The answer is written candidate by candidate
(``response``, ``summaries``).
"""
