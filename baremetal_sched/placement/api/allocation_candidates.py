"""/allocation_candidates"""

from contextlib import closing
from functools import lru_cache

from flask import Response
from sqlalchemy import Connection

from baremetal_sched.errors.placement import TraitNotFound
from baremetal_sched.placement import query_values
from baremetal_sched.placement.api.call import PlacementCall, check_query
from baremetal_sched.placement.api.errors import UnknownTraitInQuery
from baremetal_sched.placement.candidates import answer, fast_path, search
from baremetal_sched.placement.candidates.request import query
from baremetal_sched.placement.candidates.request.query import CandidateRequest

#: Query strings with this many parameters are not cached.
_MANY = 40


def list_candidates(call: PlacementCall, connection: Connection) -> Response:
    """GET /allocation_candidates"""
    pairs = tuple(call.query)
    request = (_request if len(pairs) < _MANY else _request.__wrapped__)(pairs, call.version)
    options = search.Options.of(call.settings)
    document = None
    try:
        if call.settings.placement.candidates_fast_path:
            document = fast_path.answer(connection, request, call.version, options)
        if document is None:
            with closing(search.find(connection, request, call.version, options)) as found:
                document = answer.build(connection, found, request, call.version)
    except TraitNotFound as error:
        raise UnknownTraitInQuery(message=str(error)) from None
    return call.answer(document)


@lru_cache(maxsize=200)
def _request(pairs: tuple[tuple[str, str], ...], version: int) -> CandidateRequest:
    """Return the parsed query string, an immutable object. Cached, as all servers of a flavor send the same query.
    Raises BadQuery."""
    check_query(dict(pairs), query_values.candidates_schema(version))
    return query.parse(pairs, version)
