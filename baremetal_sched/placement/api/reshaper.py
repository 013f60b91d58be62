"""/reshaper"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.placement import reshaper
from baremetal_sched.placement.api.allocations import writes_of
from baremetal_sched.placement.api.call import PlacementCall
from baremetal_sched.placement.inventories import Stock
from baremetal_sched.placement.reshaper import Shape
from baremetal_sched.placement.schemas.allocations import reshape_schema
from baremetal_sched.web.responses import empty_response


def reshape(call: PlacementCall, session: Session) -> Response:
    """POST /reshaper"""
    body = call.body(reshape_schema(call.version))
    shapes = {
        uuid: Shape(
            {name: Stock.of(document) for name, document in item["inventories"].items()},
            item["resource_provider_generation"],
        )
        for uuid, item in body["inventories"].items()
    }
    reshaper.reshape(session, shapes, writes_of(call, body["allocations"]))
    return empty_response(204)
