"""/usages and /resource_providers/{uuid}/usages"""

from flask import Response
from sqlalchemy import Connection

from baremetal_sched.placement import provider_parts, query_values, usages
from baremetal_sched.placement.api.call import PlacementCall


def show_provider_usages(call: PlacementCall, connection: Connection, uuid: str) -> Response:
    """GET /resource_providers/{uuid}/usages"""
    generation, rows = provider_parts.inventories(connection, uuid)
    document = {
        "resource_provider_generation": generation,
        "usages": {row.name: row.used for row in rows},
    }
    return call.answer(document)


def show_usages(call: PlacementCall, connection: Connection) -> Response:
    """GET /usages"""
    values = call.checked_query(query_values.usages_schema(call.version))
    project, user = values["project_id"], values.get("user_id")
    if call.version < query_values.CONSUMER_TYPE_SINCE:
        return call.answer({"usages": usages.by_class(connection, project, user)})
    return call.answer({"usages": usages.by_type(connection, project, user, values.get("consumer_type"))})
