"""Bookings: which machines they get, and which they do not."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import select

from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.db.clock import in_words
from baremetal_sched.db.models import Node
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.scheduling import BookingDiffers, NotBookable
from tests.functional.scheduling.making_bookings import DAY, NOW, TURNAROUND, booked, claim, made, new, standing_still
from tests.service import Service


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with standing_still(database_url) as (service, _):
        yield service


def test_all_machines_or_none(service: Service) -> None:
    for name in ("n1", "n2"):
        service.add_node(name)
    with pytest.raises(NotBookable) as error:
        booked(service, new(2, 3, several=Several(3)))
    assert str(error.value) == (
        "It cannot be booked. Of 2 machines that fit, 2 are free for the whole of it, and 3 are needed."
    )
    assert booked(service, new(2, 3, several=Several(2))) == ["n1", "n2"]


def test_what_is_proposed_instead(service: Service) -> None:
    for name in ("n1", "n2"):
        service.add_node(name)
    booked(service, new(3, 4))
    with pytest.raises(NotBookable) as error:
        booked(service, new(2, 4, several=Several(2)))
    # Bound by the notice, before which nothing begins.
    after = NOW + 4 * DAY + TURNAROUND
    assert error.value.details["earliest"] == after
    assert error.value.details["longest"] == DAY - TURNAROUND
    assert str(error.value) == (
        "It cannot be booked. Of 2 machines that fit, 1 is free for the whole of it: 1 is booked in that time. "
        "Earliest start for the same length: 2027-01-19T08:10:00Z. Longest length for the same start: 85800 s."
    )


def test_what_is_proposed_can_be_booked(service: Service) -> None:
    """Times are proposed in whole seconds: none of them begins too early, or is too long."""
    service.add_node("n1")
    starts = NOW + 3 * DAY + 1_034_567.5
    booked(service, new(3, 0, starts_at=starts, ends_at=starts + DAY))
    with pytest.raises(NotBookable) as error:
        booked(service, new(3, 16.99))
    assert str(error.value).endswith(
        f"Earliest start for the same length: {in_words(starts + DAY + TURNAROUND + 0.5)}. "
        "Longest length for the same start: 1033967 s."
    )


def test_exactly_the_turnaround_apart(service: Service) -> None:
    service.add_node("n1")
    assert booked(service, new(2, 3)) == ["n1"]
    after = 3 + TURNAROUND / DAY
    second = 1 / DAY
    for starts, ends in ((after - second, 4), (1, 2 - TURNAROUND / DAY + second)):
        with pytest.raises(NotBookable):
            booked(service, new(starts, ends))
    assert booked(service, new(after, 4)) == ["n1"]
    assert booked(service, new(1.5, 2 - TURNAROUND / DAY)) == ["n1"]


def test_the_shortest_gap(service: Service) -> None:
    for name in ("n1", "n2", "n3"):
        service.add_node(name)
    first = booked(service, new(5, 6))
    (second,) = booked(service, new(5, 6))
    booked_two = [*first, second]
    # Between two uses before what is open at one end, and that before what nobody has booked.
    assert booked(service, new(3, 4))[0] in booked_two
    assert booked(service, new(7, 8))[0] in booked_two
    rest = ({"n1", "n2", "n3"} - {*booked_two}).pop()
    assert rest not in [*booked(service, new(1.5, 2)), *booked(service, new(9, 10))]


def test_the_same_request_is_the_same_booking(service: Service) -> None:
    service.add_node("n1")
    asked = new(2, 3)
    assert made(service, asked) == made(service, asked)
    for other in (new(2, 3, uuid=asked.uuid, digest="e"), new(2, 3, uuid=asked.uuid, project="q")):
        with pytest.raises(BookingDiffers):
            made(service, other)


def test_impossible_times(service: Service, subtests: pytest.Subtests) -> None:
    service.add_node("n1")
    for starts, ends, said in ((-1, 2, "in the past"), (3, 3, "after it starts"), (3, 2, "after it starts")):
        with subtests.test(starts=starts, ends=ends), pytest.raises(InvalidValue, match=said):
            booked(service, new(starts, ends))
    with pytest.raises(InvalidValue, match="shortest_claim"):
        booked(service, new(2, 2 + 59 / DAY))


def test_machines_that_do_not_fit_are_explained(service: Service) -> None:
    service.add_node("n1", resource_class="silver")
    service.add_node("n2", resource_class="gold")
    with pytest.raises(NotBookable, match="No node matches"):
        booked(service, new(2, 3, query="resources=CUSTOM_GOLD:1&required=HW_CPU_X86_AVX2"))
    with pytest.raises(NotBookable):
        booked(service, new(2, 3, query="resources=CUSTOM_BRONZE:1"))


def test_a_booked_machine_is_closed(service: Service) -> None:
    service.add_node("n1")
    assert booked(service, new(2, 3)) == ["n1"]
    assert service.database.read(lambda session: session.scalar(select(Node.closes_at))) == NOW


def with_children(service: Service, name: str, *amounts: int) -> None:
    """Add a node with providers below it that have so many of what several may get."""
    root = service.add_node(name)
    for number, amount in enumerate(amounts):
        child = {"name": f"{name}-{number}", "parent_provider_uuid": root}
        child_uuid = service.placement("POST", "/resource_providers", child).json["uuid"]
        stock = {"resource_provider_generation": 0, "inventories": {"CUSTOM_GPU": {"total": amount}}}
        service.placement("PUT", f"/resource_providers/{child_uuid}/inventories", stock)


def test_machines_whose_parts_serve_together(service: Service) -> None:
    service.placement("PUT", "/resource_classes/CUSTOM_GPU", status=201)
    # Each part alone would be served by the first one, too.
    with_children(service, "n1", 4)
    with_children(service, "n2", 2, 2)
    query = "resources=CUSTOM_GOLD:1&resources1=CUSTOM_GPU:2&resources2=CUSTOM_GPU:2&group_policy=isolate"
    for _ in range(2):
        with pytest.raises(NotBookable):
            booked(service, new(2, 3, query=query, several=Several(2)))
    assert booked(service, new(2, 3, query=query)) == ["n2"]
    assert booked(service, new(4, 5, query="resources=CUSTOM_GOLD:1&resources1=CUSTOM_GPU:4")) == ["n1"]


def test_capabilities(service: Service) -> None:
    for name, mode in (("n1", "bios"), ("n2", "uefi")):
        service.add_node(name, properties={"capabilities": f"boot_mode:{mode}"})
    asked = new(2, 3)
    specs = {"capabilities:boot_mode": "uefi"}
    request = TreeRequest("resources=CUSTOM_GOLD:1", extra_specs=specs, project="p")
    assert booked(service, replace(asked, request=request)) == ["n2"]
    with pytest.raises(NotBookable, match="Of 1 machine that fits, 0 are free"):
        booked(service, replace(new(2, 3), request=request))


def test_only_machines_that_the_project_may_use(service: Service) -> None:
    service.add_node("n1", owner="q")
    service.add_node("n2", owner="q", lessee="p")
    with pytest.raises(NotBookable):
        booked(service, new(2, 3, several=Several(2)))
    assert booked(service, new(2, 3)) == ["n2"]


def test_holds(service: Service) -> None:
    """No turnaround lies before a hold, but the time for which the machine is kept free for it; after it, nothing."""
    ahead = service.app.settings.scheduling.withhold_before_windows
    service.add_node("n1")
    hold = {"type": "window", "starts_at": in_words(NOW + 4 * DAY), "ends_at": in_words(NOW + 5 * DAY)}
    service.http.post_json("/scheduling/v1/nodes/n1/holds", hold, status=201)
    until = 4 - ahead / DAY
    for starts, ends in ((3, until + 1 / DAY), (5 - 1 / DAY, 6)):
        with pytest.raises(NotBookable, match="1 has a hold in that time"):
            booked(service, new(starts, ends))
    assert booked(service, new(3, until)) == booked(service, new(5, 6)) == ["n1"]


def test_machines_in_use(service: Service) -> None:
    service.add_node("n1")
    claim(service, "n1", NOW + 2 * DAY)
    after = 2 + TURNAROUND / DAY
    with pytest.raises(NotBookable, match="1 is not known to be free at its start"):
        booked(service, new(after - 1 / DAY, 4))
    assert booked(service, new(after, 4)) == ["n1"]
