"""/allocation_candidates"""

from flask import Response
from sqlalchemy import Connection

from baremetal_sched.errors.placement import TraitNotFound
from baremetal_sched.placement.api.call import PlacementCall
from baremetal_sched.placement.api.errors import UnknownTraitInQuery
from baremetal_sched.placement.candidates import query, response, search, shortcut
from baremetal_sched.placement.schemas import queries


def list_candidates(call: PlacementCall, connection: Connection) -> Response:
    """GET /allocation_candidates"""
    call.checked_query(queries.candidates(call.version))
    request = query.parse(call.query, call.version)
    options = search.Options.of(call.settings)
    try:
        document = shortcut.answer(connection, request, call.version, options)
        if document is None:
            found = search.find(connection, request, call.version, options)
            document = response.build(connection, found, request, call.version)
    except TraitNotFound as error:
        raise UnknownTraitInQuery(message=str(error)) from None
    return call.answer(document)
