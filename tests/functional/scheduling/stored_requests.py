"""Requests of every kind that wait, and the rows of an earlier release for each: ``tests/data/stored_requests.json``.

They are recorded by that release, in a checkout of its commit, and never written anew:

PYTHONPATH=CHECKOUT python tests/functional/scheduling/stored_requests.py tests/data/stored_requests.json
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

from baremetal_sched.db.models import Base
from tests import databases
from tests.functional.compute.grouped import fleet
from tests.functional.compute.test_servers import ZEROS, add_flavor, add_image, boot
from tests.service import Service

#: Four machines in two racks, which others have: all requests are for this class, and some for the trait.
RACKS = {"r1": 2, "r2": 2}
TRAIT = "CUSTOM_A"
SETTINGS = {"compute": {"server_group_level": "rack"}}
UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"

_QUERY = {"query": "resources=CUSTOM_GOLD:1"}
_TRAITS = {"query": f"resources=CUSTOM_GOLD:1&required={TRAIT}"}
_LIKE_ALLOCATION = {"resource_class": "gold", "traits": [TRAIT]}
_FLAVOR = {"flavor": {"vcpus": 1, "ram": 1, "disk": 1, "extra_specs": {"resources:CUSTOM_GOLD": "1", **ZEROS}}}
_SPREAD, _PACK = {"spread": {"by": "rack", "at_most": 2}}, {"pack": {"by": "rack"}}

#: Bodies of claims, by name.
CLAIMS: dict[str, dict[str, Any]] = {
    "one": _QUERY,
    "one with a trait": _TRAITS,
    "one like an allocation": _LIKE_ALLOCATION,
    "one by flavor": _FLAVOR,
    "two": {**_QUERY, "count": 2},
    "two with a trait": {**_TRAITS, "count": 2},
    "two like an allocation": {**_LIKE_ALLOCATION, "count": 2},
    "two by flavor, spread": {**_FLAVOR, "count": 2, **_SPREAD},
    "two packed": {**_QUERY, "count": 2, **_PACK},
    "two like an allocation, packed": {**_LIKE_ALLOCATION, "count": 2, **_PACK},
    "one packed": {**_QUERY, "count": 1, **_PACK},
    "four of a group": {**_QUERY, "count": 4, "group": "db"},
    "four of a group, spread": {**_TRAITS, "count": 4, "group": "db", **_SPREAD},
    "two of a group, packed": {**_LIKE_ALLOCATION, "count": 2, "group": "db", **_PACK},
    "two of a group, by flavor, spread and packed": {
        **_FLAVOR, "count": 2, "group": "db", **_PACK, "spread": {"by": "row", "at_most": 2}
    },
}  # fmt: skip
#: Bodies of allocations, and the policies of the groups of servers.
ALLOCATIONS: dict[str, dict[str, Any]] = {
    "any": {"resource_class": "gold"},
    "with a trait": {"resource_class": "gold", "traits": [TRAIT]},
}
POLICIES = (None, "affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity")


def prepare(service: Service) -> list[str]:
    """Make the machines, the flavor and the image; return the consumers that have the machines."""
    service.add_conductor("c1")
    racks = fleet(service, **RACKS)
    nodes = [node for rack in racks.values() for node in rack]
    row = service.http.post_json("/scheduling/v1/domains", {"name": "w1", "level": "row"}).json["uuid"]
    for node in nodes:
        service.http.put(f"/scheduling/v1/domains/{row}/nodes/{node}")
        service.baremetal("PUT", f"/nodes/{node}/traits", {"traits": [TRAIT]})
    consumers = [f"00000000-0000-4000-8000-{number:012}" for number in range(len(nodes))]
    for consumer, node in zip(consumers, nodes, strict=True):
        service.claim(consumer, node)
    add_flavor(service)
    add_image(service)
    return consumers


def ask_for_claim(service: Service, body: dict[str, Any]) -> None:
    """Make a claim that waits."""
    consumer = {"uuid": UUID, "project_id": "p", "user_id": "u"}
    asked = {**body, "wait": 3600, "consumer": consumer, "even_if_impossible": True}
    service.http.post_json("/scheduling/v1/claims", asked, status=202)


def ask_for_allocation(service: Service, body: dict[str, Any]) -> None:
    """Make an allocation that waits."""
    headers = {"Prefer": "allocation-wait=3600"}
    service.baremetal("POST", "/allocations", {**body, "uuid": UUID}, headers=headers, status=201)


def make_group(service: Service, policy: str) -> str:
    """Make a server group; return its UUID."""
    body = {"server_group": {"name": "g", "policy": policy}}
    uuid: str = service.compute("POST", "/os-server-groups", body).json["server_group"]["id"]
    return uuid


def ask_for_server(service: Service, group: str | None) -> None:
    """Boot a server of the group that waits."""
    flavor = service.compute("GET", "/flavors").json["flavors"][0]["id"]
    image = service.http.get("/image/v2/images").json["images"][0]["id"]
    hints = {"wait": "3600", **({"group": group} if group else {})}
    boot(service, flavor, image, hints=hints)


def all_requests() -> Iterable[tuple[str, Callable[[Service], None]]]:
    """Yield each request: its name, and the function that makes it."""
    for name, body in CLAIMS.items():
        yield f"claim: {name}", lambda service, body=body: ask_for_claim(service, body)
    for name, body in ALLOCATIONS.items():
        yield f"allocation: {name}", lambda service, body=body: ask_for_allocation(service, body)
    for policy in POLICIES:
        yield (
            f"server: {policy or 'no group'}",
            lambda service, policy=policy: ask_for_server(service, policy and make_group(service, policy)),
        )


# -- recording ---------------------------------------------------------------------------------------------------------

_LEFT_OUT = {"events", "event_notes", "event_stream", "traits", "resource_classes"}
Rows = dict[str, list[dict[str, Any]]]


def _rows(connection: Connection) -> Rows:
    names = [table.name for table in Base.metadata.sorted_tables if table.name not in _LEFT_OUT]
    found = {name: connection.execute(text(f"SELECT * FROM {name}")).mappings() for name in names}
    return {name: [dict(row) for row in rows] for name, rows in found.items()}


def record(folder: Path) -> dict[str, Rows]:
    """Return the rows that the service stores for each request, by its name."""
    found: dict[str, Rows] = {}
    template = databases.template(folder / "template.sqlite")
    for number, (name, ask) in enumerate(all_requests()):
        file = folder / f"{number}.sqlite"
        file.write_bytes(template)
        with Service(f"sqlite:///{file}", **SETTINGS) as service:
            prepare(service)
            before = service.database.select(_rows)
            ask(service)
            after = service.database.select(_rows)
        new = {table: [row for row in rows if row not in before[table]] for table, rows in after.items()}
        found[name] = {table: rows for table, rows in new.items() if rows}
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        recorded = json.dumps(record(Path(directory)), indent=1)
    Path(sys.argv[1]).write_text(f"{recorded}\n")
