"""Usages of projects, from the texts in the rows of consumers."""

from collections.abc import Mapping

import pytest
from click.testing import CliRunner
from sqlalchemy import text

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.cli import cli
from baremetal_sched.placement import usages
from tests.functional.placement.test_races import uuid_of
from tests.service import Service

MANY = [f"CUSTOM_{'X' * 60}_{number:02}" for number in range(30)]


@pytest.fixture
def provider(service: Service) -> str:
    uuid = uuid_of(99)
    service.placement("POST", "/resource_providers", {"name": "p", "uuid": uuid})
    for name in MANY:
        service.placement("PUT", f"/resource_classes/{name}")
    inventories = {name: {"total": 10**9} for name in ("VCPU", "MEMORY_MB", *MANY)}
    body = {"resource_provider_generation": 0, "inventories": inventories}
    service.placement("PUT", f"/resource_providers/{uuid}/inventories", body)
    return uuid


def claim(
    service: Service, number: int, provider: str, amounts: Mapping[str, int], *, kind: str = "INSTANCE", user: str = "u"
) -> None:
    present = service.placement("GET", f"/allocations/{uuid_of(number)}").json
    body = {
        "allocations": {provider: {"resources": amounts}} if amounts else {},
        "project_id": "p",
        "user_id": user,
        "consumer_generation": present.get("consumer_generation"),
        "consumer_type": kind,
    }
    service.placement("PUT", f"/allocations/{uuid_of(number)}", body, status=204)


def of_project(service: Service, query: str = "", version: str = "1.39") -> object:
    return service.placement("GET", f"/usages?project_id=p{query}", version=version).json["usages"]


def test_every_change_of_allocations_is_a_change_of_usages(service: Service, provider: str) -> None:
    claim(service, 0, provider, {"VCPU": 1})
    claim(service, 1, provider, {"VCPU": 2, "MEMORY_MB": 64})
    claim(service, 2, provider, {"VCPU": 4}, user="other")
    claim(service, 3, provider, {"VCPU": 8}, kind="MIGRATION")
    assert of_project(service) == {
        "INSTANCE": {"VCPU": 7, "MEMORY_MB": 64, "consumer_count": 3},
        "MIGRATION": {"VCPU": 8, "consumer_count": 1},
    }
    assert of_project(service, "&user_id=u", "1.37") == {"VCPU": 11, "MEMORY_MB": 64}
    claim(service, 1, provider, {"MEMORY_MB": 32}, kind="MIGRATION", user="other")
    claim(service, 0, provider, {})
    service.placement("DELETE", f"/allocations/{uuid_of(3)}", status=204)
    assert of_project(service, "&user_id=other") == {
        "INSTANCE": {"VCPU": 4, "consumer_count": 1},
        "MIGRATION": {"MEMORY_MB": 32, "consumer_count": 1},
    }
    assert of_project(service, "&user_id=u") == {}
    assert of_project(service, "&consumer_type=all") == {"all": {"VCPU": 4, "MEMORY_MB": 32, "consumer_count": 2}}
    assert service.database.read(audit) == []


def test_a_consumer_with_more_than_the_text_holds_is_counted(service: Service, provider: str) -> None:
    amounts = dict.fromkeys([*MANY, "VCPU"], 10**8)
    claim(service, 0, provider, amounts)
    claim(service, 1, provider, {"VCPU": 1})
    claim(service, 2, provider, {"VCPU": 1}, kind="X" * 255)
    assert of_project(service, "&consumer_type=INSTANCE") == {
        "INSTANCE": {**amounts, "VCPU": 10**8 + 1, "consumer_count": 2}
    }
    assert of_project(service, version="1.37") == {**amounts, "VCPU": 10**8 + 2}
    assert service.database.read(audit) == []


def test_what_a_release_wrote_that_keeps_no_texts_is_counted_and_kept_once_it_is_gone(
    service: Service, provider: str
) -> None:
    claim(service, 0, provider, {"VCPU": 1})
    claim(service, 1, provider, {"VCPU": 2})
    with service.database.engine.begin() as connection:
        connection.execute(text("UPDATE consumers SET usages = NULL WHERE uuid = :uuid"), {"uuid": uuid_of(0)})
    assert of_project(service) == {"INSTANCE": {"VCPU": 3, "consumer_count": 2}}
    with service.database.engine.begin() as connection:
        connection.execute(text("UPDATE consumers SET usages = 'INSTANCE:1=5,'"))
        connection.execute(text("UPDATE schema_state SET served_since = '0024'"))
    assert of_project(service) == {"INSTANCE": {"VCPU": 3, "consumer_count": 2}}
    assert service.database.read(audit) == []
    arguments = ["db", "upgrade", "--finish", "--database", service.database_url]
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    assert of_project(service) == {"INSTANCE": {"VCPU": 3, "consumer_count": 2}}
    with service.database.engine.begin() as connection:
        connection.execute(
            text("UPDATE consumers SET usages = 'INSTANCE:1=5,' WHERE uuid = :uuid"), {"uuid": uuid_of(0)}
        )
    (difference,) = service.database.read(audit)
    assert difference.startswith(f"consumer {uuid_of(0)}: its usages are 'INSTANCE:1=5,', not ")
    assert service.database.change(lambda connection: usages.keep_next(connection, 0)) is not None
    assert service.database.read(audit) == []
