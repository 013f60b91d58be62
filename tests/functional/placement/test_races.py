"""Many at once, and lost races: what Placement's own suite cannot see, as it sends one request after the other."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.errors import TooManyConflicts
from baremetal_sched.placement import allocations, inventories, projected, reshaper, single_claim, traits
from baremetal_sched.placement.consumers import ConsumerWrite, enter_new
from tests.restored import restored
from tests.service import Service

MANY = 8


def uuid_of(number: int) -> str:
    return str(UUID(int=number + 1))


def body(provider: str, project: str = "p", user: str = "u", generation: int | None = None, amount: int = 1) -> Any:
    return {
        "allocations": {provider: {"resources": {"VCPU": amount}}},
        "project_id": project,
        "user_id": user,
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
    }


@pytest.fixture
def busy(database_url: str) -> Any:
    with Service(database_url, database={"max_pool_size": 2 * MANY}) as service:
        yield service


@pytest.fixture
def provider(busy: Service) -> str:
    """One with 100 VCPU."""
    return make(busy, "a")


@pytest.fixture
def provider_of_one(service: Service) -> str:
    return make(service, "one", total=1)


def make(service: Service, name: str, total: int = 100) -> str:
    uuid: str = service.placement("POST", "/resource_providers", {"name": name}).json["uuid"]
    inventory = {"resource_class": "VCPU", "total": total}
    service.placement("POST", f"/resource_providers/{uuid}/inventories", inventory, status=201)
    return uuid


def at_once(action: Callable[[int], Any]) -> Counter[int]:
    with ThreadPoolExecutor(MANY) as pool:
        return Counter(response.status_code for response in pool.map(action, range(MANY)))


def test_consumers_of_a_new_project_and_user_come_into_being_at_once(busy: Service, provider: str) -> None:
    """No request fails because another one just made the same project and user; no allocation is lost."""

    def claim(number: int) -> Any:
        return busy.placement("PUT", f"/allocations/{uuid_of(number)}", body(provider), status="*")

    assert at_once(claim) == {204: MANY}
    usages = busy.placement("GET", "/usages?project_id=p&user_id=u").json["usages"]
    assert usages == {"INSTANCE": {"VCPU": MANY, "consumer_count": MANY}}
    assert busy.database.read(audit) == []


def test_a_new_consumer_is_made_by_one_of_many(busy: Service, provider: str) -> None:
    def claim(number: int) -> Any:
        return busy.placement("PUT", f"/allocations/{uuid_of(0)}", body(provider, f"p{number}"), status="*")

    assert at_once(claim) == {204: 1, 409: MANY - 1}
    held = busy.placement("GET", f"/allocations/{uuid_of(0)}").json
    assert held["consumer_generation"] == 1
    assert held["allocations"][provider]["resources"] == {"VCPU": 1}


def test_no_update_of_a_consumer_is_lost(busy: Service, provider: str) -> None:
    """Of writers that have seen the same generation one wins; each write without a generation adds one."""
    path = f"/allocations/{uuid_of(0)}"
    busy.placement("PUT", path, body(provider), status=204)

    def change(number: int) -> Any:
        return busy.placement("PUT", path, body(provider, generation=1, amount=2 + number), status="*")

    assert at_once(change) == {204: 1, 409: MANY - 1}

    def overwrite(number: int) -> Any:
        older = {"allocations": body(provider, amount=1 + number)["allocations"], "project_id": "p", "user_id": "u"}
        return busy.placement("PUT", path, older, version="1.12", status="*")

    assert at_once(overwrite) == {204: MANY}
    assert busy.placement("GET", path).json["consumer_generation"] == 2 + MANY
    assert busy.database.read(audit) == []


def test_the_last_of_a_resource_goes_to_one(busy: Service) -> None:
    """By PUT and by POST of several consumers; the capacity is never exceeded."""
    scarce = make(busy, "scarce", total=3)

    def claim(number: int) -> Any:
        if number % 2:
            return busy.placement("PUT", f"/allocations/{uuid_of(number)}", body(scarce), status="*")
        both = {uuid_of(number): body(scarce), uuid_of(100 + number): body(scarce)}
        return busy.placement("POST", "/allocations", both, status="*")

    assert at_once(claim).keys() <= {204, 409}
    usages = busy.placement("GET", f"/resource_providers/{scarce}/usages").json["usages"]
    assert usages["VCPU"] <= 3
    assert busy.database.read(audit) == []


def test_an_aggregate_comes_into_being_once(busy: Service) -> None:
    """However many providers enter it, and all of them do."""
    uuids = [make(busy, f"n{number}") for number in range(MANY)]
    aggregates = [uuid_of(1000 + number) for number in range(3)]

    def enter(number: int) -> Any:
        entered = {"aggregates": aggregates, "resource_provider_generation": 1}
        return busy.placement("PUT", f"/resource_providers/{uuids[number]}/aggregates", entered, status="*")

    assert at_once(enter) == {200: MANY}
    for aggregate in aggregates:
        found = busy.placement("GET", f"/resource_providers?member_of={aggregate}").json["resource_providers"]
        assert {row["uuid"] for row in found} == set(uuids)


def test_a_custom_name_comes_into_being_once(busy: Service, subtests: pytest.Subtests) -> None:
    for kind in ["traits", "resource_classes"]:
        with subtests.test(kind=kind):
            path = f"/{kind}/CUSTOM_NEW"
            assert at_once(lambda _, path=path: busy.placement("PUT", path, status="*")) == {201: 1, 204: MANY - 1}
            listed = busy.placement("GET", f"/{kind}").json[kind]
            names = [one if isinstance(one, str) else one["name"] for one in listed]
            assert names.count("CUSTOM_NEW") == 1


def test_a_class_is_renamed_while_it_is_claimed(busy: Service) -> None:
    """No answer is an error of the server, and claimed amounts keep their inventory."""
    busy.placement("PUT", "/resource_classes/CUSTOM_0", status=201)
    providers = [make(busy, f"n{number}", total=4) for number in range(2)]
    for uuid in providers:
        inventory = {"resource_class": "CUSTOM_0", "total": 100}
        busy.placement("POST", f"/resource_providers/{uuid}/inventories", inventory, status=201)

    def act(number: int) -> Any:
        if number == 0:
            return busy.placement("PUT", "/resource_classes/CUSTOM_0", {"name": "CUSTOM_1"}, version="1.6", status="*")
        content = body(providers[number % 2])
        content["allocations"] = {uuid: {"resources": {"CUSTOM_0": 1}} for uuid in providers}
        return busy.placement("PUT", f"/allocations/{uuid_of(number)}", content, status="*")

    statuses = at_once(act)
    assert statuses.keys() <= {200, 204, 400}
    assert statuses[200] == 1
    for uuid in providers:
        usages = busy.placement("GET", f"/resource_providers/{uuid}/usages").json["usages"]
        assert usages == {"VCPU": 0, "CUSTOM_1": statuses[204]}
    assert busy.database.read(audit) == []


def test_providers_go_and_change_while_they_are_claimed(busy: Service) -> None:
    """A claim has its inventory in the end, or was refused; a provider that is held does not go."""
    provider, other = make(busy, "a", total=4), make(busy, "b")
    path = f"/resource_providers/{provider}"
    busy.placement("PUT", f"/allocations/{uuid_of(50)}", body(other), status=204)

    def act(number: int) -> Any:
        match number:
            case 0 | 1 | 2:
                return busy.placement("PUT", f"/allocations/{uuid_of(number)}", body(provider), status="*")
            case 3:  # somebody moves here
                return busy.placement("PUT", f"/allocations/{uuid_of(50)}", body(provider, generation=1), status="*")
            case 4:
                stocks = {"resource_provider_generation": 1, "inventories": {"DISK_GB": {"total": 1}}}
                return busy.placement("PUT", f"{path}/inventories", stocks, status="*")
            case 5:
                return busy.placement("DELETE", f"{path}/inventories/VCPU", status="*")
            case 6:
                shape = {"resource_provider_generation": 1, "inventories": {}}
                reshape = {"inventories": {provider: shape}, "allocations": {}}
                return busy.placement("POST", "/reshaper", reshape, status="*")
            case _:
                return busy.placement("DELETE", path, status="*")

    assert at_once(act).keys() <= {200, 204, 400, 404, 409}
    assert busy.database.read(audit) == []
    moved = busy.placement("GET", f"/allocations/{uuid_of(50)}").json["allocations"]
    assert moved.keys() in ({provider}, {other})


def test_a_unit_that_is_claimed_is_not_taken_away(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even if it was free a moment ago: the node would have another unit, and be given out twice."""
    node = service.add_node("n1")
    service.claim(uuid_of(0), node, status=204)
    look = projected._present

    def looked_before(*arguments: Any) -> Any:
        traits, stocks = look(*arguments)
        return traits, {name: replace(stock, used=0) for name, stock in stocks.items()}

    monkeypatch.setattr(projected, "_present", looked_before)
    monkeypatch.setattr(service.database, "attempts", 3)
    unit = projected.SingleUnit("CUSTOM_SILVER", reserved=False, copies=projected.Copies("silver", "", None))
    with pytest.raises(TooManyConflicts):
        service.database.write(lambda session: projected.sync_provider(session, node, unit, projected._READING))
    assert set(service.inventory(node)) == {"CUSTOM_GOLD"}


def test_what_was_in_the_way_of_a_claim_may_be_gone(
    service: Service, provider_of_one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the UPDATE that found too little and the general way, which would say why: that way claims it."""
    tried = []

    def takes_nothing(*arguments: Any, **_: Any) -> bool:
        tried.append(arguments)
        return False

    def only_enters(connection: Connection, request: ConsumerWrite, **_: Any) -> tuple[int | None, bool]:
        tried.append(request)
        return enter_new(connection, request), False

    monkeypatch.setattr(single_claim, "_take", takes_nothing)
    monkeypatch.setattr(single_claim, "enter", only_enters)
    before = service.placement("GET", f"/resource_providers/{provider_of_one}").json["generation"]
    service.placement("PUT", f"/allocations/{uuid_of(0)}", body(provider_of_one), status=204)
    assert len(tried) == 1
    assert service.placement("GET", f"/resource_providers/{provider_of_one}").json["generation"] == before + 1
    # And nobody who cannot have it changes anything, generations included.
    response = service.placement("PUT", f"/allocations/{uuid_of(1)}", body(provider_of_one), status=409)
    assert "The requested amount would exceed the capacity" in response.json["errors"][0]["detail"]
    assert service.placement("GET", f"/resource_providers/{provider_of_one}").json["generation"] == before + 1
    assert service.database.read(audit) == []


def lost(*arguments: Any, **options: Any) -> Any:
    raise StaleDataError


def test_a_write_that_loses_every_race_is_a_conflict(
    database_url: str, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """409 with the code that tells clients to try again, not an error of the server; and nothing has changed."""
    for module, function, method, path, content in [
        (allocations, "write", "PUT", "/allocations/{consumer}", "claim"),
        (allocations, "write", "POST", "/allocations", "claims"),
        (reshaper, "reshape", "POST", "/reshaper", "reshape"),
        (inventories, "replace", "PUT", "/resource_providers/{provider}/inventories", "inventories"),
        (traits, "replace", "PUT", "/resource_providers/{provider}/traits", "traits"),
    ]:
        with (
            subtests.test(content=content),
            Service(database_url, database={"transaction_retries": 2}) as service,
            restored(service),
            monkeypatch.context() as patch,
        ):
            provider = make(service, "a")
            bodies = {
                "claim": body(provider),
                "claims": {uuid_of(0): body(provider)},
                "reshape": {
                    "inventories": {
                        provider: {"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 9}}}
                    },
                    "allocations": {uuid_of(0): body(provider)},
                },
                "inventories": {"resource_provider_generation": 1, "inventories": {}},
                "traits": {"resource_provider_generation": 1, "traits": []},
            }
            patch.setattr(module, function, lost)
            url = path.format(consumer=uuid_of(0), provider=provider)
            (error,) = service.placement(method, url, bodies[content], status=409).json["errors"]
            assert error["code"] == "placement.concurrent_update"
            allocates = "Inventory and/or allocations changed while attempting to allocate: " in error["detail"]
            assert allocates == (content in ("claim", "claims", "reshape"))
            assert "lost 2 races" in error["detail"]
            assert service.placement("GET", f"/allocations/{uuid_of(0)}").json == {"allocations": {}}
            assert service.placement("GET", f"/resource_providers/{provider}").json["generation"] == 1
