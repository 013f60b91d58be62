"""/resource_providers/{uuid}/usages"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.placement import inventories, providers
from baremetal_sched.placement.api.call import PlacementCall


def show_provider_usages(call: PlacementCall, session: Session, uuid: str) -> Response:
    """GET /resource_providers/{uuid}/usages"""
    provider = providers.find(session, uuid)
    rows = inventories.list_inventories(session, provider["id"])
    return call.answer(
        {
            "resource_provider_generation": provider["generation"],
            "usages": {row.name: row.used for row in rows},
        }
    )
