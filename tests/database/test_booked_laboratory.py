"""Bookings in a small laboratory, by random stories: bookings, claims with and without ends, late ones,
holds, deletions and changed traits. No machine has two uses at one moment, nobody else gets a machine of a running
booking, nothing is short while there is a replacement, and nobody waits for a machine that they may have.
"""

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.database_clock import settable
from tests.databases import make_empty
from tests.examples import examples
from tests.functional.scheduling.booked_laboratory import BEGIN, MOMENTS, BookedLaboratory
from tests.functional.scheduling.laboratory import HOUR
from tests.service import Service

TRAITS, RACKS = ("CUSTOM_A", "CUSTOM_B"), ("r0", "r1", "r2")

_class = st.sampled_from(["gold", "gold", "gold", "silver"])
_machine = st.fixed_dictionaries(
    {
        "resource_class": _class,
        "traits": st.sampled_from([(), TRAITS[:1], TRAITS[1:], TRAITS, TRAITS]),
        "rack": st.sampled_from([*RACKS, *RACKS, None]),
    }
)
_moment, _soon, _number = st.integers(0, MOMENTS - 1), st.integers(0, 4), st.integers(0, 9)
_traits = st.sampled_from([{}, {}, {"traits": [TRAITS[0]]}, {"traits": [TRAITS[1]]}])
_wanted = st.builds(lambda name, traits: {"resource_class": name, **traits}, _class, _traits)
_placed = st.sampled_from([{}, {}, {"spread": {"by": "rack"}}, {"pack": {"by": "rack"}}])
#: Multiples of the turnaround of silver.
_length = st.integers(1, 12).map(lambda halves: halves * HOUR / 2)
_books = st.tuples(st.just("book"), _wanted, st.integers(1, 3), _placed, st.integers(0, 4), _length)
_claims = st.tuples(st.just("claim"), _wanted, st.none() | _length, st.booleans(), st.booleans())
_under = st.tuples(st.just("claim under"), _number, st.sampled_from([True, True, False]))
_acts = st.one_of(
    *(_books, _claims, _claims, _under, _under, _under),
    st.tuples(st.just("prolong"), _number, st.none() | _length),
    st.tuples(st.just("release"), _number),
    st.tuples(st.just("cancel"), _number),
    st.tuples(st.just("change"), _number, st.integers(1, 3), st.none() | _length),
    st.tuples(st.just("hold"), _number, st.integers(0, 4), _length),
    st.tuples(st.just("lockout"), _number, _length),
    st.tuples(st.just("delete"), _number),
    st.tuples(st.just("traits"), _number, st.sets(st.sampled_from(TRAITS))),
)
_stories = st.tuples(
    st.lists(st.tuples(_soon, st.one_of(_books, _books, _claims)), min_size=2, max_size=6),
    st.lists(st.tuples(_moment, _acts), min_size=5, max_size=14),
).map(lambda parts: [*parts[0], *parts[1]])

_SETTINGS: dict[str, dict[str, Any]] = {
    "conductor": {"heartbeat_timeout": 10**8, "conductor_cleanup_timeout": 10**9},
    "scheduling": {"turnaround": 0, "turnaround_of": "silver:1800", "no_show": 0, "tell_before": ""},
}


def test_bookings_are_kept(database_url: str) -> None:
    happened = Counter[str]()
    with Service(database_url, **_SETTINGS) as service, settable(service.database) as clock:

        @given(machines=st.lists(_machine, min_size=3, max_size=6), story=_stories)
        @settings(
            max_examples=examples(300),
            suppress_health_check=[*HealthCheck],
            phases=[Phase.generate],
        )
        def try_stories(machines: list[dict[str, Any]], story: list[tuple[int, tuple[Any, ...]]]) -> None:
            make_empty(database_url)
            service.database._memory.clear()
            clock.stopped_at = BEGIN
            service.conductors.clear()
            service.add_conductor("c1")
            laboratory = BookedLaboratory(service, clock)
            racks = {name: _rack(service, name) for name in RACKS}
            for number, each in enumerate(machines):
                named = {name: each[name] for name in ("resource_class", "traits")}
                uuid = service.add_node(f"n{number}", **named)
                if each["rack"] is not None:
                    service.http.put(f"/scheduling/v1/domains/{racks[each['rack']]}/nodes/{uuid}")
                laboratory.machines[uuid] = each["resource_class"]
            laboratory.tell(story)
            happened.update(laboratory.happened)

        try_stories()
    print(dict(happened))


def _rack(service: Service, name: str) -> str:
    uuid: str = service.http.post_json("/scheduling/v1/domains", {"name": name, "level": "rack"}).json["uuid"]
    return uuid
