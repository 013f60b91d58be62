"""A request for a machine finds the same machines, and is told the same, at every door that has words for it.

Each example is a small fleet and a request. The rules are in ``door_rules``, written a second time in plain Python; one
table has those that differ from door to door.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.database import door_rules
from tests.database.door_rules import (
    BY_CLASS,
    BY_FLAVOR,
    BY_QUERY,
    OF_SCHEDULER,
    RULES,
    UNKNOWN_CLASS,
    UNKNOWN_TRAIT,
    Door,
    Hindrance,
    Machine,
    Request,
    Rule,
    Traits,
)
from tests.database.doors import ADMIN, Answer, Fleet, When
from tests.databases import make_empty
from tests.examples import examples, parts
from tests.service import Service

TRAITS = ("CUSTOM_A", "CUSTOM_B", "CUSTOM_C")
PROJECTS = ("blue", "green")
RACKS = ("rack1", "rack2")
#: Where one waits for a machine that is taken away from someone else.
WHERE_ONE_WAITS = (Door.CLAIM_BY_QUERY, Door.CLAIM_BY_FLAVOR, Door.CLAIM_BY_CLASS, Door.ALLOCATION, Door.SERVER)

of = st.sampled_from
own_traits = st.frozensets(of(TRAITS), max_size=3)
machines = st.builds(
    Machine,
    resource_class=of(["gold", "gold", "gold", "silver"]),
    traits=own_traits,
    owner=of([None, None, *PROJECTS]),
    lessee=of([None, None, None, *PROJECTS]),
    aggregates=st.frozensets(of(RACKS), max_size=1),
    hindrance=of([None, None, None, None, Hindrance.HOLD, Hindrance.CLAIM, *Hindrance]),
    served=of([True, True, True, False]),
    of_scheduler=of([False, False, True]),
    cards=st.lists(own_traits, max_size=2).map(tuple),
)
any_trait = of([*TRAITS, *TRAITS, UNKNOWN_TRAIT, OF_SCHEDULER])
asked_traits = st.builds(
    Traits,
    required=st.frozensets(any_trait, max_size=2),
    forbidden=st.frozensets(any_trait, max_size=2),
    one_of=of([frozenset(), frozenset(), frozenset(TRAITS[:2]), frozenset([TRAITS[2], UNKNOWN_TRAIT])]),
    # Every door refuses to ask for what it forbids.
).filter(
    lambda traits: not traits.required & traits.forbidden and not (traits.one_of <= traits.forbidden != frozenset())
)
requests = st.builds(
    Request,
    resource_class=of(["gold", "gold", "gold", "gold", "silver", UNKNOWN_CLASS]),
    traits=st.just(Traits()) | asked_traits,
    card=of([None, None, Traits()]) | asked_traits,
    together=st.booleans(),
    aggregate=of([None, None, None, None, *RACKS]),
    owner=of([None, None, None, None, *PROJECTS]),
    project=of([None, None, *PROJECTS]),
).map(lambda request: request.sensible())


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    # The servers of the administrator, who has no project, may have every machine.
    with Service(database_url, api={"auth_strategy": "noauth2"}, compute={"project_id": "admin"}) as service:
        service.http.extra_environ = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in ADMIN.items()}
        yield service


@pytest.mark.parametrize("part", parts(6))
@settings(max_examples=examples(42), deadline=None, suppress_health_check=list(HealthCheck))
@given(machines=st.lists(machines, max_size=5), request=requests, waits=st.booleans(), last=of(WHERE_ONE_WAITS))
def test_every_door_says_the_same(
    service: Service, part: int, machines: list[Machine], request: Request, waits: bool, last: Door
) -> None:
    check(service, machines, request, last, waits=waits)


def check(service: Service, machines: list[Machine], request: Request, last: Door, *, waits: bool) -> None:
    """Ask at each door. What is taken at the ``last`` one is kept."""
    make_empty(service.database_url)
    service.database._memory.clear()
    service.add_conductor("c1")
    for name in TRAITS:
        service.placement("PUT", f"/traits/{name}", status="2*")
    for name in ("CUSTOM_GOLD", "CUSTOM_SILVER"):
        service.placement("PUT", f"/resource_classes/{name}", status="2*")
    fleet = Fleet(service, machines, request, waits=waits)
    doors = [door for door in Door if request.is_expressed_by(door) and door not in (last, Door.SERVER)]
    answers = {door: fleet.ask(door) for door in doors}
    if request.is_expressed_by(last):
        taken = fleet.take(last)
        answers[last] = fleet.answer_of(taken)
    for door, answer in answers.items():
        assert_right(fleet, door, answer)
    for family in (BY_QUERY, BY_FLAVOR, BY_CLASS):
        assert_same_reason({door: answer for door, answer in answers.items() if door in family})
    if request.is_expressed_by(last) and taken.waiting is not None:
        assert_given_what_fits(fleet, last, taken.waiting)


def assert_right(fleet: Fleet, door: Door, answer: Answer) -> None:
    request = fleet.request
    if (request.unknown() or request.resource_class == UNKNOWN_CLASS) and door in RULES[Rule.REFUSES_UNKNOWN_NAMES]:
        assert answer.when is When.REFUSED, door
        return
    fitting = {uuid for uuid, machine in fleet.machines.items() if door_rules.fits(door, request, machine)}
    free = {uuid for uuid in fitting if door_rules.is_free(door, fleet.machines[uuid])}
    when = When.NOW if free else When.LATER if fitting else When.NEVER
    right = Answer(
        when if answer.when is not None else None,
        free if answer.machines is not None else None,
        len(free) if answer.number is not None else None,
        answer.reason,
        answer.unknown,
    )
    assert (door, answer) == (door, right)
    if answer.unknown is not None:
        named = request.unknown() | unknown_class(fleet, door)
        # Projects hear of no names that only others use.
        hears_all = request.project is None and request.owner is None
        assert named == answer.unknown if hears_all else named <= answer.unknown, (door, answer)


def unknown_class(fleet: Fleet, door: Door) -> set[str]:
    """The class, if there is none of this name: in placement it has to be created, of nodes one has to have it."""
    name = fleet.request.resource_class
    if door in BY_CLASS:
        return {name} - {machine.resource_class for machine in fleet.machines.values()}
    return {f"CUSTOM_{name.upper()}"} if name == UNKNOWN_CLASS else set()


def assert_same_reason(answers: dict[Door, Answer]) -> None:
    """Where nothing can be had, the same is said at doors where one asks alike."""
    taken_meanwhile = any(answer.when is When.NOW or answer.machines or answer.number for answer in answers.values())
    said = {door: answer.reason for door, answer in answers.items() if answer.reason is not None}
    assert taken_meanwhile or len(set(said.values())) < 2, said


def assert_given_what_fits(fleet: Fleet, door: Door, waiting: str) -> None:
    """Of machines that become free, the first one that fits goes to who waits; no other does."""
    released = (Hindrance.HOLD, Hindrance.CLAIM)
    for uuid, machine in fleet.machines.items():
        if machine.hindrance in released:
            fleet.release(uuid)
            would_be = replace(machine, hindrance=None)
            if door_rules.fits(door, fleet.request, would_be) and door_rules.is_free(door, would_be):
                assert fleet.holds(waiting) == {uuid}, (door, uuid)
                return
            assert fleet.holds(waiting) == set(), (door, uuid)
