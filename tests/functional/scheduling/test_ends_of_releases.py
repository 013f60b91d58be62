# tier: first
"""While an earlier release may serve the database, it would end nothing: ends are refused at every door."""

from typing import Any

import pytest
from sqlalchemy import update

from baremetal_sched.db.models import SchemaState
from tests.functional.compute.test_servers import add_flavor, add_image, boot
from tests.functional.scheduling.test_claims import CLAIMS
from tests.functional.scheduling.test_claims import post as claim
from tests.service import Service
from tests.unchanged import unchanged

UNTIL = "2099-12-01T18:00:00Z"
ENDS: tuple[dict[str, Any], ...] = ({"until": UNTIL}, {"for": 3600})


def test_every_door_refuses_an_end(service: Service, subtests: pytest.Subtests) -> None:
    for name in ("n1", "n2", "n3"):
        service.add_node(name)
    own = claim(service, status=201).json["uuid"]
    flavor, image = add_flavor(service), add_image(service)
    older = update(SchemaState).values(served_since="0037")
    service.database.write(lambda session: session.execute(older) and None)

    def asked(end: dict[str, Any]) -> dict[str, Any]:
        body, several = {"resource_class": "gold"}, {"count": 2, "spread": {"by": "rack", "at_most": 2}}
        yes = {"Prefer": f'allocation-until="{UNTIL}"'}
        return {
            "a claim": lambda: claim(service, **end, status=503),
            "of several": lambda: claim(service, **several, **end, status=503),
            "that waits": lambda: claim(service, wait=60, **end, status=503),
            "changed": lambda: service.http.patch_json(f"{CLAIMS}/{own}", end, status=503),
            "taken away": lambda: service.http.patch_json(f"{CLAIMS}/{own}", {"until": None}, status=503),
            "a server": lambda: boot(service, flavor, image, hints=end, status=503),
            "an allocation": lambda: service.baremetal("POST", "/allocations", body, headers=yes, status=503),
        }

    with unchanged(service):
        for end in ENDS:
            for door, ask in asked(end).items():
                with subtests.test(f"{door}: {end}"):
                    assert "before this one" in ask().text
    claim(service, status=201)
