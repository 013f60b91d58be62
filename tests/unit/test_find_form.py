"""The form that finds machines: what it asks for, and addresses of changed forms."""

from urllib.parse import parse_qsl, urlencode

import pytest

from baremetal_sched.baremetal.matching.question import without
from baremetal_sched.baremetal.matching.tree_request import QUERY_VERSION as VERSION
from baremetal_sched.errors import InvalidValue
from baremetal_sched.placement.candidates.request.query import parse
from baremetal_sched.ui.find.form import FindForm, pairs_of, read, renamed

UUID = "aaaaaaaa-0000-4000-8000-00000000000{}"


def parsed(query: str):  # type: ignore[no-untyped-def]
    return parse(parse_qsl(query, keep_blank_values=True), VERSION)


def test_what_a_form_asks_for(subtests: pytest.Subtests) -> None:
    for pairs, query in [
        ([("class", "gold")], "resources=CUSTOM_GOLD:1"),
        ([("class", " CUSTOM_GOLD "), ("amount", "2"), ("required", "")], "resources=CUSTOM_GOLD:2"),
        ([("class", "VCPU"), ("amount", "64")], "resources=VCPU:64"),
        (
            [("class", "gold"), ("required", "CUSTOM_A CUSTOM_B,CUSTOM_A"), ("forbidden", "CUSTOM_C")],
            "resources=CUSTOM_GOLD:1&required=CUSTOM_A,CUSTOM_B,!CUSTOM_C",
        ),
        (
            [("class", "gold"), ("any", "CUSTOM_A, CUSTOM_B"), ("any", "CUSTOM_C"), ("any", " ")],
            "resources=CUSTOM_GOLD:1&required=in:CUSTOM_A,CUSTOM_B&required=in:CUSTOM_C",
        ),
        ([("query", "?resources=VCPU:1&in_tree=x")], "resources=VCPU:1&in_tree=x"),
        (
            [("class", "gold"), ("wanted", "4"), ("spread", "rack"), ("at_most", "2"), ("pack", "row")],
            "resources=CUSTOM_GOLD:1",
        ),
    ]:
        with subtests.test(pairs=pairs):
            form = read(pairs)
            assert form is not None
            assert parse_qsl(form.body()["query"]) == parse_qsl(query)
            # The address of a form is of the same form.
            again = [
                (name, str(each))
                for name, value in form.parameters().items()
                for each in (value if isinstance(value, list) else [value])
            ]
            assert read(again) == form


def test_flavor_and_image() -> None:
    form = read([("flavor", "f1"), ("image", "i1"), ("wanted", "3")])
    assert form is not None
    assert form.body() == {"wanted": 3, "flavor": "f1", "image": "i1"}
    assert form.parameters() == {"flavor": "f1", "image": "i1", "wanted": 3}
    assert read([("flavor", "f1")]) == FindForm(flavor="f1")
    assert read([("class", ""), ("wanted", "  ")]) is None


def test_what_is_refused(subtests: pytest.Subtests) -> None:
    for pairs, said in [
        ([("required", "CUSTOM_A")], "Fill in a resource class, a query or a flavor"),
        ([("class", "gold"), ("query", "x")], "a resource class or a query"),
        ([("class", "a"), ("flavor", "x")], "a resource class or a flavor"),
        ([("query", "a"), ("required", "CUSTOM_A")], "required cannot be combined with a query"),
        ([("class", "gold"), ("image", "i")], "image cannot be combined with a resource class"),
        ([("class", "gold"), ("amount", "0")], "from 1 to"),
        ([("class", "gold"), ("amount", "9" * 5000)], "from 1 to"),
        ([("class", "gold"), ("wanted", "-1")], "number of machines"),
        ([("class", "gold"), ("wanted", "\u0661")], "number of machines"),
        ([("class", "gold"), ("required", "nvme")], "Invalid required"),
        ([("class", "gold"), ("forbidden", "<script>")], "Invalid forbidden"),
        ([("class", "gold"), ("class", "silver")], "one value for class"),
    ]:
        with subtests.test(pairs=pairs), pytest.raises(InvalidValue, match=said):
            read(pairs)


QUERIES = [
    "resources=CUSTOM_GOLD:1",
    "resources=CUSTOM_GOLD:1,VCPU:2&required=CUSTOM_A,!CUSTOM_B&required=in:CUSTOM_C,CUSTOM_D&limit=3",
    f"resources=VCPU:1&member_of=in:{UUID.format(1)},{UUID.format(2)}&member_of=!{UUID.format(3)}",
    f"resources1=VCPU:1&resources2=VCPU:1&required1=CUSTOM_A&in_tree2={UUID.format(1)}&group_policy=isolate",
    "resources_a=VCPU:1&required_b=CUSTOM_A&same_subtree=_a,_b&root_required=CUSTOM_R,!CUSTOM_S&group_policy=none",
]


def test_a_request_as_text_is_the_same_request(subtests: pytest.Subtests) -> None:
    for query in QUERIES:
        with subtests.test(query=query):
            request = parsed(query)
            assert parsed(urlencode(pairs_of(request))) == request


def test_a_changed_form_stays_what_it_was_if_it_can() -> None:
    form = FindForm("CUSTOM_GOLD", required=("CUSTOM_A",), forbidden=("CUSTOM_B",), needed=2)
    request = parsed(form.body()["query"])
    for drop, expected in (
        (["trait:CUSTOM_A"], FindForm("CUSTOM_GOLD", forbidden=("CUSTOM_B",), needed=2)),
        (["trait:CUSTOM_A", "trait:!CUSTOM_B"], FindForm("CUSTOM_GOLD", needed=2)),
    ):
        changed = without(request, drop)
        assert changed is not None
        assert form.changed(changed) == expected
    raw = FindForm(query=form.body()["query"])
    assert raw.changed(request).query == form.body()["query"]
    tree = parsed("resources=CUSTOM_GOLD:1&resources1=VCPU:1")
    assert form.changed(tree) == FindForm(query="resources=CUSTOM_GOLD%3A1&resources1=VCPU%3A1", needed=2)


def test_other_names() -> None:
    request = parsed("resources=CUSTOM_GODL:1&required=!CUSTOM_OLD&resources1=VCPU:1&required1=in:CUSTOM_NVEM,CUSTOM_A")
    request = renamed(renamed(request, "CUSTOM_GODL", "CUSTOM_GOLD"), "CUSTOM_NVEM", "CUSTOM_NVME")
    assert request == parsed(
        "resources=CUSTOM_GOLD:1&required=!CUSTOM_OLD&resources1=VCPU:1&required1=in:CUSTOM_NVME,CUSTOM_A"
    )
