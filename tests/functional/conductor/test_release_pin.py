"""The release pin: as long as one conductor does not know groups, groups do not count; for anybody."""

import pytest
from sqlalchemy import true

from baremetal_sched.app import create_app
from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.hashring import ring_of
from baremetal_sched.releases import has_groups
from tests.service import Service

GROUPS = {"u1": "", "u2": "rack1", "u3": "rack1"}


def upgrade(service: Service, host: str, pin: str | None) -> None:
    """(Re)start ``host`` with the given pin."""
    conductor = service.add_conductor(host, GROUPS[host])
    service.database.write(lambda session: conductors.sign_off(session, host))
    conductor._settings.set_override("pin_release_version", pin)
    conductor.start()


def owners(service: Service) -> dict[str, str | None]:
    return {
        node["uuid"]: node["conductor"]
        for node in service.baremetal("GET", "/nodes?fields=uuid,conductor").json["nodes"]
    }


def test_a_rolling_upgrade_of_three_conductors(database_url: str) -> None:
    with Service(database_url) as service:
        for host in GROUPS:
            upgrade(service, host, "queens")
        # Groups are ignored, whatever they are, known or not.
        loose = [service.add_node(f"n{number}", power=False) for number in range(20)]
        racked = [service.add_node(f"r{number}", power=False, conductor_group="rack1") for number in range(20)]
        everybody = ring_of(frozenset(GROUPS))
        together = {uuid: everybody.owner(uuid) for uuid in loose + racked}
        for host in ("u1", "u2"):
            assert owners(service) == together
            upgrade(service, host, None)
        assert owners(service) == together  # u3 is still pinned
        mine = {node["uuid"] for node in service.baremetal("GET", "/nodes?conductor=u1").json["nodes"]}
        assert mine == {uuid for uuid, owner in together.items() if owner == "u1"}
        # What a conductor looks after is what the API says.
        own = service.conductors["u1"]._host.own(true())
        assert len(own) == len(mine)

        upgrade(service, "u3", None)
        rack = ring_of(frozenset({"u2", "u3"}))
        assert owners(service) == dict.fromkeys(loose, "u1") | {uuid: rack.owner(uuid) for uuid in racked}


def test_a_pinned_conductor_that_is_gone_does_not_count(database_url: str) -> None:
    with Service(database_url) as service:
        upgrade(service, "u1", "queens")
        upgrade(service, "u2", None)
        service.conductors["u1"].sign_off()
        service.baremetal("POST", "/nodes", {"driver": "fake-hardware"}, status=400)
        service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "conductor_group": "rack1"}, status=201)


def test_which_releases_have_groups(subtests: pytest.Subtests) -> None:
    for release, expected in [
        ("queens", False),
        ("11.0", False),
        ("9.1", False),
        ("rocky", True),
        ("11.1", True),
        ("2024.1", True),
        (None, True),
    ]:
        with subtests.test(msg=repr((release, expected))):
            assert has_groups(release) is expected


def test_a_pinned_api_offers_the_microversions_of_that_release(database_url: str) -> None:
    with Service(database_url, DEFAULT={"pin_release_version": "queens"}) as service:
        service.add_conductor("c1")
        answer = service.baremetal("GET", "/nodes", version="latest")
        assert answer.headers["X-OpenStack-Ironic-API-Maximum-Version"] == "1.38"
        assert answer.headers["X-OpenStack-Ironic-API-Version"] == "1.38"
        service.baremetal("GET", "/nodes", version="1.39", status=406)
        document = service.http.get("/baremetal/").json
        assert document["default_version"]["version"] == "1.38"


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(ValueError, match="austin"):
        create_app({"DEFAULT": {"pin_release_version": "austin"}})
