"""Who has what a claim could not get: without this, whoever lost a race knows only that it did."""

from collections.abc import Sequence

from sqlalchemy import select

from baremetal_sched.db.transaction import Writer
from baremetal_sched.errors.placement import CapacityExceeded, TreeHeld
from baremetal_sched.placement import indivisible
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.placement.tables import PROVIDERS

_ROOT = PROVIDERS.alias("root")


def explained(writer: Writer, error: CapacityExceeded, requests: Sequence[ConsumerWrite]) -> CapacityExceeded:
    """Return the error of these requests with who has the machine, if it is one.

    SELECT p.id, r.id, r.mirrored_class_id FROM resource_providers p JOIN resource_providers r ON r.id = p.root_id
    WHERE p.uuid = :provider
    """
    query = (
        select(PROVIDERS.c.id, _ROOT.c.id.label("root_id"), _ROOT.c.mirrored_class_id)
        .join_from(PROVIDERS, _ROOT, _ROOT.c.id == PROVIDERS.c.root_id)
        .where(PROVIDERS.c.uuid == error.details["provider"])
    )
    found = writer.execute(query).one()
    if found.mirrored_class_id is None or error.details["why"]:
        return error
    own = {request.uuid for request in requests}
    others = [uuid for uuid in indivisible.consumers_in(writer, found.root_id) if uuid not in own]
    why = ""
    if others:
        why = f" It is in use by consumer {', '.join(others)}."
    elif isinstance(error, TreeHeld) or found.id == found.root_id:
        why = " The node is not available."
    return type(error)(**{**error.details, "why": why})
