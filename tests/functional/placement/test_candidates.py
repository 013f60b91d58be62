# tier: first
"""GET /allocation_candidates: machines that stand alone, and what cannot be asked."""

from typing import Any
from urllib.parse import parse_qsl

import pytest

from baremetal_sched.errors.placement import BadQueryValue, DuplicateQueryKey, MissingQueryValue
from baremetal_sched.placement.candidates import fast_path
from baremetal_sched.placement.candidates.request.query import parse
from tests.built_once import built_once
from tests.fast_path import needs_fast_path
from tests.restored import restored
from tests.service import Service

UUID = "aaaaaaaa-0000-4000-8000-000000000001"


#: Queries, and the names of the machines that they find.
OFFERED = [
    ("resources=CUSTOM_GOLD:1", "plain a ab b"),
    ("resources=CUSTOM_SILVER:1", "silver"),
    ("resources=CUSTOM_GOLD:1,CUSTOM_SILVER:1", ""),
    ("resources=CUSTOM_GOLD:2", ""),
    ("resources=CUSTOM_GOLD:99999999999999999999", ""),
    ("resources=VCPU:1", ""),
    ("resources=CUSTOM_GOLD:1&required=CUSTOM_A", "a ab"),
    ("resources=CUSTOM_GOLD:1&required=CUSTOM_A,CUSTOM_B", "ab"),
    ("resources=CUSTOM_GOLD:1&required=!CUSTOM_A", "plain b"),
    ("resources=CUSTOM_GOLD:1&required=CUSTOM_B,!CUSTOM_A", "b"),
    ("resources=CUSTOM_GOLD:1&required=in:CUSTOM_A,HW_CPU_X86_VMX", "a ab b"),
    ("resources=CUSTOM_GOLD:1&required=in:CUSTOM_A,HW_CPU_X86_VMX&required=CUSTOM_B&required=!HW_CPU_X86_VMX", "ab"),
    ("resources=CUSTOM_GOLD:1&required=HW_CPU_X86_AVX", ""),
    ("resources=CUSTOM_GOLD:1&member_of=" + UUID, ""),
    ("resources=CUSTOM_GOLD:1&member_of=!" + UUID, "plain a ab b"),
    ("resources=CUSTOM_GOLD:1&in_tree=" + UUID, ""),
]


@pytest.fixture
def fleet(service: Service) -> dict[str, str]:
    return built_once(service, build)


def build(service: Service) -> dict[str, str]:
    return {
        "plain": service.add_node("plain"),
        "a": service.add_node("a", traits=("CUSTOM_A",)),
        "ab": service.add_node("ab", traits=("CUSTOM_A", "CUSTOM_B")),
        "b": service.add_node("b", traits=("CUSTOM_B", "HW_CPU_X86_VMX")),
        "silver": service.add_node("silver", resource_class="silver", traits=("CUSTOM_A",)),
        "maintenance": service.add_node("in-maintenance", traits=("CUSTOM_A",), maintenance=True),
        "unknown power": service.add_node("unpowered", traits=("CUSTOM_A",), power=False),
    }


def test_who_is_offered(service: Service, fleet: dict[str, str]) -> None:
    for query, expected in OFFERED:
        with Service(service.database_url) as fresh:  # it remembers nothing
            for _ in ("the long way", "with what was remembered"):
                assert fresh.candidates(query) == {fleet[name] for name in expected.split()}, query


def test_answers_are_the_same_without_the_fast_path(
    service: Service, fleet: dict[str, str], monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    answer, asked = fast_path.answer, []

    def watched(*arguments: Any) -> dict[str, Any] | None:
        asked.append(arguments)
        return answer(*arguments)

    monkeypatch.setattr(fast_path, "answer", watched)
    for version in ["1.10", "1.28", "1.39"]:
        with subtests.test(version=version):
            paths = [f"/allocation_candidates?{query}" for query, _ in OFFERED if version == "1.39" or "&" not in query]
            asked.clear()
            with (
                Service(service.database_url, placement={"candidates_fast_path": True}) as fast,
                Service(service.database_url, placement={"candidates_fast_path": False}) as general,
            ):
                with_it = [fast.placement("GET", path, version=version).json for path in paths]
                assert len(asked) == len(paths)
                assert any(document["allocation_requests"] for document in with_it)
                assert [general.placement("GET", path, version=version).json for path in paths] == with_it
                assert len(asked) == len(paths)


def test_in_tree_names_the_machine(service: Service, fleet: dict[str, str]) -> None:
    assert service.candidates(f"resources=CUSTOM_GOLD:1&in_tree={fleet['a']}") == {fleet["a"]}
    assert service.candidates(f"resources=CUSTOM_SILVER:1&in_tree={fleet['a']}") == set()


def test_the_limit_limits_requests_and_summaries(service: Service, fleet: dict[str, str]) -> None:
    document = service.placement("GET", "/allocation_candidates?resources=CUSTOM_GOLD:1&limit=2").json
    assert len(document["allocation_requests"]) == len(document["provider_summaries"]) == 2
    again = service.placement("GET", "/allocation_candidates?resources=CUSTOM_GOLD:1&limit=2").json
    assert again == document


def test_the_answer(service: Service, fleet: dict[str, str]) -> None:
    node = fleet["ab"]
    query = "/allocation_candidates?resources=CUSTOM_GOLD:1&required=CUSTOM_A,CUSTOM_B"
    document = service.placement("GET", query).json
    assert document == {
        "allocation_requests": [{"allocations": {node: {"resources": {"CUSTOM_GOLD": 1}}}, "mappings": {"": [node]}}],
        "provider_summaries": {
            node: {
                "resources": {"CUSTOM_GOLD": {"capacity": 1, "used": 0}},
                "traits": ["CUSTOM_A", "CUSTOM_B"],
                "parent_provider_uuid": None,
                "root_provider_uuid": node,
            }
        },
    }
    at_1_33 = service.placement("GET", query, version="1.33").json["allocation_requests"][0]
    assert set(at_1_33) == {"allocations"}
    at_1_28 = service.placement("GET", query, version="1.28").json["provider_summaries"][node]
    assert set(at_1_28) == {"resources", "traits"}
    older = service.placement("GET", "/allocation_candidates?resources=CUSTOM_SILVER:1", version="1.10").json
    assert older == {
        "allocation_requests": [
            {"allocations": [{"resource_provider": {"uuid": fleet["silver"]}, "resources": {"CUSTOM_SILVER": 1}}]}
        ],
        "provider_summaries": {fleet["silver"]: {"resources": {"CUSTOM_SILVER": {"capacity": 1, "used": 0}}}},
    }


def test_nothing_found_is_an_answer(service: Service) -> None:
    document = service.placement("GET", "/allocation_candidates?resources=VCPU:1").json
    assert document == {"allocation_requests": [], "provider_summaries": {}}


@needs_fast_path
def test_as_many_statements_for_many_as_for_one(service: Service, fleet: dict[str, str]) -> None:
    path = "/allocation_candidates?resources=CUSTOM_GOLD:1&required=!HW_CPU_X86_AVX"
    service.placement("GET", path)
    counts = set()
    for limit in (2, 4):
        with service.statements() as statements:
            service.placement("GET", f"{path}&limit={limit}")
        counts.add(len(statements))
    # Where ids are never given out again, what the names stand for is remembered.
    assert counts == {4 if service.database_url.startswith("sqlite") else 1}


@needs_fast_path
def test_requests_of_one_form_are_one_statement(service: Service, fleet: dict[str, str]) -> None:
    if service.database_url.startswith("sqlite"):
        pytest.skip("ids may be given out again, so they are not remembered")
    asked = {
        "CUSTOM_GOLD:1&required=CUSTOM_A,!CUSTOM_B&limit=3": {"a"},
        "CUSTOM_GOLD:1&required=CUSTOM_B,!CUSTOM_A&limit=2": {"b"},
        "CUSTOM_SILVER:1&required=CUSTOM_A,!CUSTOM_B&limit=1": {"silver"},
    }
    for query in asked:
        service.candidates(f"resources={query}")
    with service.statements() as statements:
        for query, names in asked.items():
            assert service.candidates(f"resources={query}") == {fleet[name] for name in names}
    assert len(statements) == 3
    assert len(set(statements)) == 1


@needs_fast_path
def test_one_statement_asks_for_the_names_of_requests_to_come(service: Service, fleet: dict[str, str]) -> None:
    if service.database_url.startswith("sqlite"):
        pytest.skip("ids may be given out again, so they are not remembered")
    counts = []
    for query in ("CUSTOM_GOLD:1&required=!CUSTOM_B", "CUSTOM_SILVER:1&required=CUSTOM_A"):
        with service.statements() as statements:
            service.candidates(f"resources={query}")
        counts.append(len(statements))
    assert counts == [2, 1]


def test_what_is_remembered_changes_no_answer(
    service: Service, fleet: dict[str, str], subtests: pytest.Subtests
) -> None:
    for version in ["1.10", "1.16", "1.28", "1.33", "1.39"]:
        with subtests.test(version=version), restored(service):
            path = "/allocation_candidates?resources=CUSTOM_GOLD:1"
            if version >= "1.22":
                path += "&required=!HW_CPU_X86_AVX"
            first = service.placement("GET", path, version=version).json
            assert first["allocation_requests"]
            assert service.placement("GET", path, version=version).json == first
            child = "/resource_providers"
            service.placement(
                "POST",
                child,
                {"name": "child", "parent_provider_uuid": next(iter(first["provider_summaries"]))},
                version="1.39",
            )
            assert (
                service.placement("GET", path, version=version).json["allocation_requests"]
                == first["allocation_requests"]
            )


def test_a_trait_that_was_made_anew_is_another(service: Service, fleet: dict[str, str]) -> None:
    path = "/allocation_candidates?resources=CUSTOM_GOLD:1&required=!CUSTOM_FRESH"
    service.placement("PUT", "/traits/CUSTOM_FRESH")
    before = len(service.placement("GET", path).json["allocation_requests"])
    service.placement("DELETE", "/traits/CUSTOM_FRESH")
    service.placement("GET", path, status=400)
    service.placement("PUT", "/traits/CUSTOM_FRESH")
    assert before == len(service.placement("GET", path).json["allocation_requests"])
    provider = next(iter(service.placement("GET", path).json["provider_summaries"]))
    service.baremetal("PUT", f"/nodes/{provider}/traits/CUSTOM_FRESH")
    assert provider not in service.placement("GET", path).json["provider_summaries"]


def test_what_cannot_be_asked(service: Service, subtests: pytest.Subtests) -> None:
    for query, version, message in [
        ("", "1.24", "'resources' is a required property"),
        ("", "1.35", "At least one request group"),
        ("resources=", "1.39", "Got: empty string"),
        ("resources=NOSUCH:1", "1.39", "Invalid resource class in resources parameter"),
        ("resources=VCPU:1&required=NOSUCH", "1.39", "No such trait(s): NOSUCH."),
        ("resources=VCPU:1&limit=1", "1.15", "'limit' was unexpected"),
        ("resources=VCPU:1&required=HW_CPU_X86_VMX", "1.16", "'required' was unexpected"),
        ("resources=VCPU:1&resources1=VCPU:1", "1.24", "'resources1' was unexpected"),
        ("resources=VCPU:1&limit=0", "1.39", "Failed validating 'pattern'"),
        ("resources=VCPU:1&limit=x", "1.39", "Failed validating 'pattern'"),
        ("resources=VCPU:1&group_policy=bogus", "1.39", "'bogus' is not one of ['none', 'isolate']"),
        ("resources=VCPU:1&resources01=VCPU:1", "1.32", "'resources01' does not match any of the regexes"),
        ("resources=VCPU:x&resources=VCPU:1", "1.39", "expected positive integer amount. Got: x"),
        ("resources=VCPU:1&in_tree=x&in_tree=" + UUID, "1.39", "to be a format of uuid. Got: x"),
        ("resources=VCPU:1&in_tree=x", "1.39", "Expected 'in_tree' parameter to be a format of uuid. Got: x"),
        (
            "resources=VCPU:1&required=HW_CPU_X86_VMX,!HW_CPU_X86_VMX",
            "1.39",
            "Conflicting required and forbidden traits",
        ),
        ("required=HW_CPU_X86_VMX", "1.35", "orphaned traits keys: required"),
        ("member_of=" + UUID, "1.35", "orphaned member_of keys: member_of"),
        ("in_tree=" + UUID, "1.35", "All request groups must specify resources."),
        ("resources=VCPU:1&nosuch=1", "1.39", "'nosuch' does not match any of the regexes"),
        ("resources=VCPU:1&root_required=HW_CPU_X86_VMX", "1.34", "'root_required' does not match any of the regexes"),
        ("resources=VCPU:1&same_subtree=1", "1.35", "'same_subtree' does not match any of the regexes"),
        ("resources1=VCPU:1&required2=NOSUCH&resources2=VCPU:1&group_policy=none", "1.39", "No such trait(s): NOSUCH."),
        ("resources1=VCPU:1&resources2=NOSUCH:1&group_policy=none", "1.39", "No such resource class NOSUCH."),
        ("resources=VCPU:1&limit=abc&limit=3", "1.39", "'abc' is not a value of 'limit'"),
        ("resources=VCPU:1&group_policy=some&group_policy=none", "1.39", "'some' is not a value of 'group_policy'"),
        ("resources1=VCPU:1&resources2=VCPU:1", "1.39", 'The "group_policy" parameter is required'),
        ("resources=VCPU:1&member_of=x", "1.39", "Expected 'member_of' parameter to contain valid UUID(s). Got: x"),
        ("resources=VCPU:1&root_required=in:A,B", "1.39", "only supported since microversion 1.39. Got: in:A,B"),
        ("required=A&required1=B", "1.35", "orphaned traits keys: required, required1"),
    ]:
        with subtests.test(query=query, version=version):
            response = service.placement("GET", f"/allocation_candidates?{query}", version=version, status=400)
            assert message in response.json["errors"][0]["detail"]


def test_parameters_that_contradict_each_other(subtests: pytest.Subtests) -> None:
    for query, error, message in [
        ("root_required=A&root_required=B", DuplicateQueryKey, "'root_required' may be specified only once"),
        ("root_required=A,!A", BadQueryValue, "forbidden traits found in root_required: A"),
        ("same_subtree=1,", BadQueryValue, "Empty string (unsuffixed group) can not be specified in `same_subtree`"),
        ("required1=A", BadQueryValue, "`same_subtree` query param: bad group(s) - ['1']."),
        ("resources1=VCPU:1&same_subtree=2", BadQueryValue, "in `same_subtree`: ['2'] not found in ['', '1']."),
        ("resources=&same_subtree=", BadQueryValue, "Empty string"),
    ]:
        with subtests.test(query=query):
            pairs = parse_qsl("resources=VCPU:1&" + query, keep_blank_values=True)
            with pytest.raises(error) as caught:
                parse(pairs, 39)
            assert message in str(caught.value)


def test_something_has_to_be_asked_for() -> None:
    for query in ("", "required1=A&same_subtree=1"):
        with pytest.raises(MissingQueryValue, match=r"There must be at least one resources or resources\[\$S\] param"):
            parse(parse_qsl(query), 39)


def test_a_node_that_is_held_is_not_offered(service: Service, fleet: dict[str, str]) -> None:
    service.claim(UUID, fleet["a"], status=204)
    assert service.candidates("resources=CUSTOM_GOLD:1") == {fleet["plain"], fleet["ab"], fleet["b"]}
    service.placement("DELETE", f"/allocations/{UUID}")
    assert fleet["a"] in service.candidates("resources=CUSTOM_GOLD:1")
