"""Inspection rules on documents: fields in texts, every operator, every action, loops, and how rules fail."""

import re
import tracemalloc
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from copy import deepcopy
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baremetal_sched.baremetal.inspection.rules import engine, limits, patterns
from baremetal_sched.baremetal.inspection.rules.actions import ACTIONS
from baremetal_sched.baremetal.inspection.rules.engine import Rule
from baremetal_sched.baremetal.inspection.rules.limits import Budget, RuleFailed
from baremetal_sched.baremetal.inspection.rules.operators import OPERATORS
from baremetal_sched.baremetal.inspection.rules.subject import ApiCall, Subject
from baremetal_sched.baremetal.inspection.rules.values import Signature
from baremetal_sched.errors import InvalidValue
from tests.examples import examples
from tests.functional.fuzz.words import odd_values

PORT, MAC = "22222222-0000-4000-8000-000000000000", "52:54:00:00:00:0a"
INVENTORY = {
    "cpu": {"count": 8, "flags": ["vmx", "avx"]},
    "disks": [{"name": "/dev/sda", "size": 100}],
    "bmc_address": "192.0.2.1",
    "bmc_password": "secret",
    "vendor": "Dell Inc.",
}


def subject() -> Subject:
    return Subject(
        node={
            "driver": "fake-hardware",
            "name": "n1",
            "resource_class": None,
            "maintenance": False,
            "properties": {"cpus": "16", "capabilities": "a:1,b:2"},
            "driver_info": {"password": "pw"},
            "extra": {"l": [1], "s": "x", "d": {"k": 1}},
        },
        traits=["CUSTOM_A"],
        inventory=deepcopy(INVENTORY),
        plugin_data={
            "flag": True,
            "no": False,
            "zero": 0,
            "none": None,
            "empty": [],
            "l": [1],
            "d": {"k": 1},
            "s": "x",
        },
        ports={PORT: {"extra": {}, "physical_network": None}},
        addresses={MAC: PORT},
        read_only={"uuid": "11111111-0000-4000-8000-000000000000"},
    )


def clause(op: str, *values: Any, loop: Any = None, multiple: str | None = None, **args: Any) -> dict[str, Any]:
    more = {"loop": loop, "multiple": multiple}
    return {
        "op": op,
        "args": list(values) or args,
        **{name: value for name, value in more.items() if value is not None},
    }


def run(*actions: dict[str, Any], conditions: tuple[dict[str, Any], ...] = (), mask: str = "never") -> Subject:
    found = subject()
    engine.run([Rule("r1", conditions, actions)], found, mask_secrets=mask)
    return found


def holds(condition: dict[str, Any]) -> bool:
    return "CUSTOM_B" in run(clause("add-trait", name="CUSTOM_B"), conditions=(condition,)).traits


# -- fields in texts ---------------------------------------------------------------------------------------------------


def test_fields_are_filled_in(subtests: pytest.Subtests) -> None:
    for text, value in [
        ("{inventory[cpu][count]}", 8),
        ("{inventory.cpu.count}", 8),
        ("{inventory[disks][0][size]}", 100),
        ("{inventory[cpu][flags]}", ["vmx", "avx"]),
        ("{inventory[cpu][count]} CPUs", "8 CPUs"),
        ("{inventory[cpu][count]:03d}", "008"),
        ("{inventory[vendor]!r}", "'Dell Inc.'"),
        ("{node.name} {node[uuid]}", "n1 11111111-0000-4000-8000-000000000000"),
        ("{node.traits}", ["CUSTOM_A"]),
        ("{plugin_data[flag]}", True),
        ({"a": ["{node.name}"], "{node.name}": 1}, {"a": ["n1"], "n1": 1}),
        (5, 5),
        ("{{x}}", "{x}"),
        # What is not there, and what is no field, stays as it is written.
        ("{inventory[nosuch]}", "{inventory[nosuch]}"),
        ("a {inventory[disks][1]}", "a {inventory[disks][1]}"),
        ("{nosuch}", "{nosuch}"),
        ("{item}", "{item}"),
        ("{}", "{}"),
        ("{0}", "{0}"),
        ("{", "{"),
        ("a{2}", "a{2}"),
        # Nothing of Python is within reach, and no text can grow without bounds.
        ("{node.__class__}", "{node.__class__}"),
        ("{node.name.upper}", "{node.name.upper}"),
        ("{inventory[cpu][count]:>9999999999}", "{inventory[cpu][count]:>9999999999}"),
        ("{inventory[cpu][count]:{node}}", "{inventory[cpu][count]:{node}}"),
        ("{inventory[cpu][flags]:03d}", "{inventory[cpu][flags]:03d}"),
        ("{inventory[vendor]:d}", "{inventory[vendor]:d}"),
        # No number becomes a character: some are none that a text may have.
        ("{plugin_data[zero]:c}", "{plugin_data[zero]:c}"),
        ("{plugin_data[zero]:>3c}", "{plugin_data[zero]:>3c}"),
        ("{plugin_data[zero]:c>3}", "cc0"),
    ]:
        with subtests.test(text=text):
            assert run(clause("set-attribute", path="/extra/a", value=text)).node["extra"]["a"] == value


def test_what_is_filled_in_is_a_copy() -> None:
    found = run(
        clause("set-attribute", path="/extra/cpu", value="{inventory[cpu]}"),
        clause("set-attribute", path="/extra/cpu/count", value=1),
    )
    assert found.node["extra"]["cpu"]["count"] == 1
    assert found.inventory == INVENTORY


def test_only_some_arguments_are_filled_in_unless_in_a_loop() -> None:
    path = "/extra/{node.name}"
    assert run(clause("set-attribute", path=path, value=1)).node["extra"]["{node.name}"] == 1
    assert run(clause("set-attribute", path=path, value=1, loop=[1])).node["extra"]["n1"] == 1


def test_secrets_are_masked(subtests: pytest.Subtests) -> None:
    for mask, sensitive, seen in [
        ("always", False, "***"),
        ("always", True, "***"),
        ("never", False, "secret"),
        ("sensitive", False, "***"),
        ("sensitive", True, "secret"),
    ]:
        with subtests.test(mask=mask, sensitive=sensitive):
            found = subject()
            actions = [clause("set-attribute", path="/extra/a", value="{inventory[bmc_password]}")]
            actions.append(clause("set-attribute", path="/extra/b", value="{inventory}"))
            engine.run([Rule("r1", (), actions, sensitive)], found, mask_secrets=mask)
            assert found.node["extra"]["a"] == found.node["extra"]["b"]["bmc_password"] == seen
            assert found.inventory == INVENTORY


def test_secrets_of_the_node_are_masked_as_in_every_answer(subtests: pytest.Subtests) -> None:
    for mask, masked in [("always", True), ("never", False)]:
        with subtests.test(mask=mask):
            found = subject()
            found.node["driver_info"] = {"ipmi_password": "pw", "ipmi_address": "192.0.2.1"}
            found.node["instance_info"] = {"image_url": "http://signed"}
            found.read_only = {"driver_internal_info": {"agent_secret_token": "t"}}
            fields = ("driver_info", "driver_info.ipmi_password", "instance_info.image_url")
            fields += ("driver_internal_info.agent_secret_token",)
            value = [f"{{node.{field}}}" for field in fields]
            engine.run(
                [Rule("r1", (), [clause("set-attribute", path="/extra/a", value=value)])], found, mask_secrets=mask
            )
            shown, *secrets = found.node["extra"]["a"]
            assert shown == {"ipmi_password": "******" if masked else "pw", "ipmi_address": "192.0.2.1"}
            assert secrets == (["******"] * 3 if masked else ["pw", "http://signed", "t"])
            assert found.node["driver_info"]["ipmi_password"] == "pw"


# -- conditions --------------------------------------------------------------------------------------------------------

HOLDS = [
    clause("eq", values=["{inventory[cpu][count]}", 8]),
    clause("eq", values=["8", 8, "{inventory[cpu][count]}"]),
    clause("eq", values=[8, 8.0]),
    clause("eq", values=[None, "{plugin_data[none]}"]),
    clause("eq", values=["{inventory[cpu][flags]}", ["vmx", "avx"]]),
    clause("eq", values=[]),
    clause("eq", ["a", "a"]),
    clause("eq", values=[8, "8"], force_strings=True),
    clause("lt", values=["{inventory[cpu][count]}", "{node.properties[cpus]}"]),
    clause("lt", values=[1, 2.5, "3"]),
    clause("lt", values=["a", "b"]),
    clause("lt", values=["16", 8], force_strings=True),
    clause("gt", values=[3, 2, 1]),
    clause("gt", values=["{inventory[cpu][count]}", 7]),
    clause("gt", values=["9", "16"], force_strings=True),
    *(clause("is-empty", value=value) for value in (None, "", [], {}, "{plugin_data[empty]}", "{inventory[nosuch]}")),
    *(clause("is-none", value=value) for value in (None, "{plugin_data[none]}", "{inventory[nosuch]}")),
    *(clause("is-true", value=value) for value in (True, "yes", "True", 1, 0.5, "{plugin_data[flag]}")),
    *(clause("is-false", value=value) for value in (False, "no", "FALSE", 0, None, "{plugin_data[zero]}")),
    clause("in-net", address="{inventory[bmc_address]}", subnet="192.0.2.0/24"),
    clause("in-net", address="192.0.2.1", subnet="192.0.2.9/24"),
    clause("in-net", "::1", "::/0"),
    clause("matches", value="{inventory[vendor]}", regex="(?i)dell.*"),
    clause("matches", value="{inventory[cpu][count]}", regex=r"\d"),
    clause("contains", value="{inventory[vendor]}", regex="ell"),
    clause("contains", value="{inventory[cpu][flags]}", regex="vmx"),
    clause("one-of", value="{inventory[cpu][count]}", values=[4, 8]),
    clause("one-of", value="8", values=[8]),
    clause("one-of", "ell", "Dell"),
    clause("one-of", "vmx", "{inventory[cpu][flags]}"),
]
DOES_NOT = [
    clause("eq", values=["a", "b"]),
    clause("eq", values=["a", "a", "b"]),
    clause("eq", values=[8, 8.0], force_strings=True),
    clause("lt", values=[1, 1]),
    clause("lt", values=[1, 3, 2]),
    clause("lt", values=["16", "8"]),
    clause("gt", values=["8", "16"]),
    clause("is-empty", value="x"),
    clause("is-empty", value=0),
    clause("is-none", value="None"),
    clause("is-none", value=""),
    clause("is-true", value="1"),
    clause("is-true", value=None),
    clause("is-true", value=[1]),
    clause("is-false", value=""),
    clause("is-false", value="{inventory[nosuch]}"),
    clause("in-net", address="{inventory[bmc_address]}", subnet="10.0.0.0/8"),
    clause("in-net", address="::1", subnet="10.0.0.0/8"),
    clause("matches", value="{inventory[vendor]}", regex="Dell"),
    clause("contains", value="{inventory[vendor]}", regex="HPE"),
    clause("one-of", value="c", values=["a", "b"]),
    clause("one-of", value="c"),
    clause("one-of", value="c", values=None),
]


def test_conditions_and_their_opposites(subtests: pytest.Subtests) -> None:
    for condition, expected in [(one, True) for one in HOLDS] + [(one, False) for one in DOES_NOT]:
        with subtests.test(condition=condition):
            assert holds(condition) is expected
            assert holds({**condition, "op": f"!{condition['op']}"}) is not expected


def test_every_operator_is_tested() -> None:
    assert {one["op"] for one in HOLDS} == {one["op"] for one in DOES_NOT} == set(OPERATORS)


def test_conditions_that_cannot_be_looked_at(subtests: pytest.Subtests) -> None:
    for condition, reason in [
        (clause("eq", values="abc"), "Expected list for 'values', got: str"),
        (clause("lt", values=[{}, 1]), "cannot be compared"),
        (clause("gt", values=[None, 1]), "cannot be compared"),
        (clause("lt", values=[10**400, [1]]), "cannot be compared"),
        (clause("in-net", address="x", subnet="10.0.0.0/8"), "invalid value"),
        (clause("in-net", address="10.0.0.1", subnet="{inventory[nosuch]}"), "invalid value"),
        (clause("matches", value="a", regex="{item}", loop=["("]), "invalid regular expression"),
        (clause("contains", value="a", regex="*"), "invalid regular expression"),
        (clause("contains", value="a", regex=5), "5 is not a string"),
        (clause("contains", value="a", regex="(" * 5000 + ")" * 5000), "invalid regular expression"),
        (clause("contains", value="a", regex="a{9999999999}"), "invalid regular expression"),
        (clause("one-of", value="a", values=5), "Expected list for 'values', got: int"),
        (clause("eq", x=1), "missing required argument(s): values; unexpected argument(s): x"),
    ]:
        with subtests.test(condition=condition):
            with pytest.raises(RuleFailed) as failed:
                holds(condition)
            assert reason in str(failed.value)
            assert str(failed.value).endswith("(inspection rule r1)")


#: Python tries 2**40 ways to find it.
ENDLESS = clause("contains", value="a" * 40 + "!", regex="(a+)+$")


@pytest.mark.ci
def test_regular_expressions_that_never_end(subtests: pytest.Subtests) -> None:
    """They take neither for ever nor all memory, and what comes after them is looked at."""
    for condition, reason in [
        (ENDLESS, re.escape("the regular expression '(a+)+$' takes more than 1 s (inspection rule r1)")),
        ({**ENDLESS, "op": "!matches"}, "takes more than 1 s"),
        # Which of the two comes first is a matter of the machine.
        (clause("matches", value="ab" * 8_000_000, regex="(a|b)*c?"), "invalid regular expression|takes more than 1 s"),
    ]:
        with subtests.test(condition=condition):
            with pytest.raises(RuleFailed, match=reason):
                holds(condition)
            assert holds(clause("contains", value="abc", regex="b"))


def test_repetitions_are_not_unrolled(subtests: pytest.Subtests) -> None:
    """A matcher that compiles them into as many parts needs gigabytes, or fails for the whole process."""
    for regex in ["(?:a|bc){1000000}", "(?:(?:(?:a?){1000}){1000}){1000}", "a{100000000}"]:
        with subtests.test(regex=regex):
            with suppress(RuleFailed):
                holds(clause("contains", value="a" * 40, regex=regex))
            assert holds(clause("contains", value="abc", regex="b"))


def test_a_matcher_that_was_killed_is_started_again() -> None:
    assert holds(clause("contains", value="abc", regex="b"))
    process = patterns._MATCHER._process
    assert process is not None
    process.kill()
    process.wait()
    assert holds(clause("matches", value="abc", regex=r"\w+"))
    assert not holds(clause("matches", value="abc", regex="b"))


def test_what_a_matcher_is_asked_by_many_at_once() -> None:
    conditions = [clause("matches", value=str(number), regex=str(number % 50)) for number in range(100)]
    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(holds, conditions)] == [True] * 50 + [False] * 50


def test_all_conditions_have_to_hold() -> None:
    true, false = clause("eq", values=[1, 1]), clause("eq", values=[1, 2])
    add = clause("add-trait", name="CUSTOM_B")
    assert "CUSTOM_B" in run(add, conditions=(true, true)).traits
    assert "CUSTOM_B" not in run(add, conditions=(true, false)).traits


def test_loops_in_conditions(subtests: pytest.Subtests) -> None:
    for items, any_, all_, first, last in [
        ([8, 9], True, False, True, False),
        ([9, 8], True, False, True, True),
        ([8, 8], True, True, True, True),
        ([9, 9], False, False, False, False),
        ({"v": 8}, True, True, True, True),
        ([{"v": 8}, {"v": 9}], True, False, True, False),
    ]:
        with subtests.test(items=items):
            item = "{item}" if isinstance(items, list) and isinstance(items[0], int) else "{item[v]}"
            for multiple, expected in ((None, any_), ("any", any_), ("all", all_), ("first", first), ("last", last)):
                condition = clause("eq", values=["{inventory[cpu][count]}", item], loop=items, multiple=multiple)
                assert holds(condition) is expected, multiple


# -- actions -----------------------------------------------------------------------------------------------------------


def test_attributes(subtests: pytest.Subtests) -> None:
    for path in ["/extra/d/n", "extra/d/n", "extra.d.n"]:
        with subtests.test(path=path):
            assert run(clause("set-attribute", path=path, value=2)).node["extra"]["d"] == {"k": 1, "n": 2}
            assert run(clause("extend-attribute", path=path, value=2)).node["extra"]["d"]["n"] == [2]
            put = clause("set-attribute", path=path, value={"m": 1})
            assert run(put, clause("del-attribute", path=path + path[-2] + "m")).node["extra"]["d"]["n"] == {}
            assert run(put, clause("del-attribute", path=path)).node["extra"]["d"] == {"k": 1}


def test_whole_attributes() -> None:
    assert run(clause("set-attribute", "/resource_class", "gold")).node["resource_class"] == "gold"
    assert run(clause("set-attribute", "/resource_class", "{inventory[cpu][count]}")).node["resource_class"] == "8"
    assert run(clause("set-attribute", "/maintenance", True)).node["maintenance"] == "True"
    assert run(clause("del-attribute", "/name")).node["name"] is None


def test_lists_are_extended() -> None:
    assert run(clause("extend-attribute", "/extra/l", 1)).node["extra"]["l"] == [1, 1]
    assert run(clause("extend-attribute", "/extra/l", 1, True)).node["extra"]["l"] == [1]
    assert run(clause("extend-plugin-data", "l", 1)).plugin_data["l"] == [1, 1]
    assert run(clause("extend-plugin-data", path="l", value=1, unique=True)).plugin_data["l"] == [1]
    assert run(clause("extend-plugin-data", "d.n", "{node.name}")).plugin_data["d"] == {"k": 1, "n": ["n1"]}


def test_traits() -> None:
    found = run(clause("add-trait", "CUSTOM_B"), clause("add-trait", "CUSTOM_A"), clause("add-trait", "HW_CPU_X86_VMX"))
    assert found.traits == ["CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX"]
    assert run(clause("remove-trait", "CUSTOM_A"), clause("remove-trait", "CUSTOM_Z")).traits == []


def test_capabilities() -> None:
    def of(*actions: dict[str, Any]) -> Any:
        return run(*actions).node["properties"]["capabilities"]

    assert of(clause("set-capability", "c", "{inventory[cpu][count]}")) == "a:1,b:2,c:8"
    assert of(clause("set-capability", "a", 3)) == "b:2,a:3"
    assert of(clause("unset-capability", "a")) == "b:2"
    assert of(clause("unset-capability", "nosuch")) == "a:1,b:2"
    assert of(clause("del-attribute", "/properties"), clause("set-capability", "x", 1)) == "x:1"


def test_plugin_data() -> None:
    assert run(clause("set-plugin-data", "a.b", 1)).plugin_data["a"] == {"b": 1}
    assert run(clause("set-plugin-data", ["a", "b.c"], 1)).plugin_data["a"] == {"b.c": 1}
    assert "d" not in run(clause("unset-plugin-data", "d.k")).plugin_data
    assert run(clause("set-plugin-data", "d.m", 1), clause("unset-plugin-data", "d.k")).plugin_data["d"] == {"m": 1}
    for path in ("nosuch", "s.x", "a.b"):
        assert run(clause("unset-plugin-data", path)).plugin_data == subject().plugin_data


def test_ports(subtests: pytest.Subtests) -> None:
    for port in [PORT, MAC, MAC.upper()]:
        with subtests.test(port=port):

            def of(*actions: dict[str, Any]) -> Any:
                return run(*actions).ports[PORT]

            assert (
                of(clause("set-port-attribute", port, "/physical_network", "{node.name}"))["physical_network"] == "n1"
            )
            assert of(clause("extend-port-attribute", port_id=port, path="extra.l", value=1, unique=True))["extra"] == {
                "l": [1]
            }
            both = clause("set-port-attribute", port, "/extra/a", 1), clause("del-port-attribute", port, "/extra/a")
            assert of(*both)["extra"] == {}


def test_loops_in_actions() -> None:
    pairs = [{"path": "/extra/p", "value": "{inventory[bmc_address]}"}, {"path": "/extra/q", "value": 2}]
    extra = run(clause("set-attribute", "{item[path]}", "{item[value]}", loop=pairs)).node["extra"]
    assert (extra["p"], extra["q"]) == ("192.0.2.1", 2)
    assert run(clause("add-trait", "CUSTOM_{item}", loop=["X", "Y"])).traits == ["CUSTOM_A", "CUSTOM_X", "CUSTOM_Y"]
    assert run(clause("add-trait", "{item[t]}", loop={"t": "CUSTOM_X"})).traits == ["CUSTOM_A", "CUSTOM_X"]


def test_calls_are_collected() -> None:
    assert run(clause("api-call", "http://h/{node.name}")).calls == [ApiCall("http://h/n1")]
    options = {"headers": {"a": "b"}, "proxies": {"http": "http://p"}, "timeout": "2", "retries": 0}
    (call,) = run(clause("api-call", url="https://h", **options)).calls
    assert (call.headers, call.proxies, call.timeout, call.retries) == ({"a": "b"}, {"http": "http://p"}, 2, 0)


def test_logging() -> None:
    assert run(clause("log", "{node.name}"), clause("log", msg="x", level="WARNING")).node == subject().node


def test_actions_that_fail(subtests: pytest.Subtests) -> None:
    for action, reason in [
        (clause("fail", "no {node.name}"), "Failed to inspect hardware. Reason: no n1"),
        (clause("log", "x", "loud"), "Invalid log level: loud"),
        (clause("set-attribute", "/extra/s/x", 1), "Failed to set attribute /extra/s/x: "),
        (clause("set-attribute", "/extra/l/0", 1), "Failed to set attribute"),
        (
            clause("set-attribute", "/uuid", "x"),
            "'uuid' cannot be set by a rule; these can: driver, driver_info, extra",
        ),
        (clause("set-attribute", "", "x"), "'' cannot be set by a rule"),
        (clause("extend-attribute", "/name", 1), "Cannot extend non-list attribute /name"),
        (clause("extend-attribute", "/nosuch", 1), "cannot be set by a rule"),
        (clause("del-attribute", "/extra/nosuch"), "does not exist"),
        (clause("del-attribute", "/extra/s/x"), "does not exist"),
        (clause("del-attribute", "/provision_state"), "cannot be set by a rule"),
        (clause("add-trait", "bad"), "Failed to add new trait: 'bad' is not a valid trait. Did you mean CUSTOM_BAD?"),
        (clause("add-trait", "{item}", loop=[5]), "Failed to add new trait 5"),
        (clause("set-plugin-data", "s.x", 1), "Failed to set plugin data at s.x"),
        (clause("extend-plugin-data", "s", 1), "it is not a list"),
        (clause("set-plugin-data", [], 1), "must have a part"),
        (clause("set-port-attribute", "x", "/extra/a", 1), "Port x could not be found"),
        (clause("extend-port-attribute", PORT, "/address", 1), "cannot be set by a rule"),
        (clause("del-port-attribute", PORT, "/extra/a"), "does not exist"),
        (clause("api-call", "file:///etc/passwd"), "is not an HTTP URL"),
        (clause("api-call", url="http://h", timeout="x"), "Invalid parameter"),
        (clause("api-call", url="http://h", timeout=0), "timeout must be from"),
        (clause("api-call", url="http://h", timeout=1e9), "timeout must be from"),
        (clause("api-call", url="http://h", retries=-1), "retries must be from"),
        (clause("api-call", url="http://h", retries=float("inf")), "Invalid parameter"),
        (clause("api-call", url="http://h", headers=["x"]), "headers must be an object"),
        (clause("set-attribute", "/extra/a"), "missing required argument(s): value"),
    ]:
        with subtests.test(action=action):
            with pytest.raises(RuleFailed) as failed:
                run(action)
            assert reason in str(failed.value)
            assert "(inspection rule r1)" in str(failed.value)


def test_capabilities_need_properties() -> None:
    with pytest.raises(RuleFailed, match="Failed to set attribute properties/capabilities"):
        run(clause("set-attribute", "/properties", "x"), clause("set-capability", "a", 1))


def test_every_action_is_tested() -> None:
    text = Path(__file__).read_text()
    assert [name for name in ACTIONS if f'clause("{name}"' not in text] == []


TEXTS = ["{inventory[a]}", "{inventory[a]:>9}", "{plugin_data}", "{item}", "/extra/a", "a.b", MAC, "CUSTOM_B"]
ARGUMENTS = st.sampled_from(TEXTS) | odd_values


@st.composite
def clauses(draw: st.DrawFn, signatures: Mapping[str, Signature]) -> dict[str, Any]:
    op = draw(st.sampled_from(sorted(signatures)))
    names = (*signatures[op].required, *draw(st.just(()) | st.just(signatures[op].optional)))
    return clause(op, loop=draw(st.just(None) | st.lists(ARGUMENTS, max_size=2)), **{n: draw(ARGUMENTS) for n in names})


@pytest.mark.filterwarnings("ignore:Possible:FutureWarning:re")
@pytest.mark.filterwarnings("ignore:Possible:FutureWarning:baremetal_sched")
@settings(max_examples=examples(150), derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.lists(clauses(OPERATORS), max_size=2), st.lists(clauses(ACTIONS), min_size=1, max_size=3), odd_values)
def test_whatever_a_rule_says_it_is_applied_or_fails_for_a_reason(
    conditions: list[dict[str, Any]], actions: list[dict[str, Any]], value: Any
) -> None:
    found = subject()
    found.inventory["a"] = value
    with suppress(RuleFailed):
        engine.run([Rule("r1", conditions, actions)], found, mask_secrets="always")


# -- rules -------------------------------------------------------------------------------------------------------------


def test_rules_see_what_those_before_them_did() -> None:
    found = subject()
    first = Rule("r1", (), [clause("set-plugin-data", "a", 1), clause("add-trait", "CUSTOM_B")])
    second = Rule(
        "r2",
        [clause("eq", values=["{plugin_data[a]}", 1]), clause("one-of", "CUSTOM_B", "{node.traits}")],
        [clause("set-attribute", "/extra/a", "{plugin_data[a]}")],
    )
    engine.run([first, second], found, mask_secrets="always")
    assert found.node["extra"]["a"] == 1
    other = subject()
    engine.run([second, first], other, mask_secrets="always")
    assert "a" not in other.node["extra"]


def test_rules_that_can_only_fail_are_refused(subtests: pytest.Subtests) -> None:
    for conditions, actions, reason in [
        ([clause("eq", x=1)], [], "Invalid parameters for condition operator eq: missing required argument(s): values"),
        ([clause("!eq", [1], True, 3)], [], "condition operator eq: too many arguments: 3, at most 2 are taken"),
        ([clause("matches", "a", "(")], [], "condition operator matches: invalid regular expression"),
        ([], [clause("set-attribute", path="/a")], "Invalid parameters for action operator set-attribute: missing"),
        ([], [clause("log", msg="a", x=1)], "action operator log: unexpected argument(s): x"),
        ([], [clause("add-trait", "bad")], "action operator add-trait: Failed to add new trait: 'bad' is not"),
    ]:
        with subtests.test(conditions=conditions, actions=actions):
            with pytest.raises(InvalidValue) as refused:
                engine.check(conditions, actions)
            assert reason in str(refused.value)


def test_what_a_loop_fills_in_is_not_refused() -> None:
    engine.check([clause("matches", "a", "{item}", loop=["a"])], [clause("add-trait", "{item}", loop=["CUSTOM_A"])])


# -- limits ------------------------------------------------------------------------------------------------------------

DOUBLE = "{plugin_data[x]}{plugin_data[x]}"


def spend(size: int, *actions: dict[str, Any], seconds: float = 30) -> Subject:
    """Run a rule whose inspection may use so much."""
    found = subject()
    found.budget = Budget(size, seconds)
    engine.run([Rule("r1", (), actions)], found, mask_secrets="never")
    return found


def test_a_text_that_doubles_itself_is_stopped() -> None:
    doubling = [clause("set-plugin-data", "x", "a" * 64), *[clause("set-plugin-data", "x", DOUBLE)] * 30]
    tracemalloc.start()
    try:
        with pytest.raises(RuleFailed, match=r"may produce 1048576 bytes .*max_size.* \(inspection rule r1\)"):
            spend(2**20, *doubling)
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()


def test_whatever_grows_is_stopped(subtests: pytest.Subtests) -> None:
    for actions in [
        [clause("set-plugin-data", "x", ["a"]), *[clause("set-plugin-data", "x", ["{plugin_data[x]}"] * 2)] * 40],
        [clause("set-plugin-data", "x", {"a": 1}), *[clause("set-plugin-data", "x", {"{plugin_data[x]}": 1})] * 40],
        [clause("extend-attribute", "/extra/l", "a" * 10_000, loop=list(range(1000)))],
        [clause("set-plugin-data", "{item}", {"a": ["b" * 5000]}, loop=list(range(1000)))],
        [clause("set-plugin-data", "x", ["a" * 64]), *[clause("extend-plugin-data", "x", "{plugin_data[x]}")] * 40],
        [clause("set-capability", "x", "a" * 64), *[clause("set-capability", "x", "{node.properties}" * 2)] * 40],
    ]:
        with subtests.test(actions=actions), pytest.raises(RuleFailed, match=r"\(inspection rule r1\)"):
            spend(2**20, *actions)


def test_what_conditions_read_counts_too() -> None:
    condition = clause("eq", values=["{item}" * 100, "x"], loop=["i"] * 1000, multiple="all")
    found = subject()
    found.budget = Budget(100_000)
    with pytest.raises(RuleFailed, match="may produce 100000 bytes"):
        engine.run([Rule("r1", [condition], ())], found, mask_secrets="never")


def test_rules_that_take_long_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock takes a second."""
    seconds = count()
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    slow = [clause("extend-plugin-data", "x", "{item}", True, loop=list(range(1000)))] * 100
    with pytest.raises(RuleFailed, match=r"may take 20 s .*time_limit"):
        spend(2**40, *slow, seconds=20)
    assert next(seconds) == 23, "two limits began, and the first look after 20 seconds ends it"


def test_documents_get_no_deeper_than_can_be_shown(subtests: pytest.Subtests) -> None:
    for action in [
        clause("set-attribute", "/extra/" + "/".join("a" * 300), 1),
        clause("set-plugin-data", ".".join("a" * 300), 1),
        clause("extend-attribute", "/extra/" + "/".join("a" * 300), 1),
        clause("set-port-attribute", MAC, "/extra/" + "/".join("a" * 300), 1),
    ]:
        with subtests.test(action=action), pytest.raises(RuleFailed, match="nested too deeply: at most 100 levels"):
            run(action)


def test_a_document_that_nests_itself_is_stopped() -> None:
    nesting = clause("set-plugin-data", "x", ["{plugin_data[x]}"])
    with pytest.raises(RuleFailed, match="nested too deeply"):
        run(*[nesting] * 100)
    assert run(*[nesting] * 90)


def test_a_rule_has_so_many_clauses(subtests: pytest.Subtests) -> None:
    for conditions, actions, message in [
        (100, 100, None),
        (101, 1, "101 conditions are too many: a rule may have 100"),
        (1, 101, "101 actions are too many: a rule may have 100"),
    ]:
        with subtests.test(conditions=conditions):
            rule = [clause("is-true", "x")] * conditions, [clause("fail", "x")] * actions
            with pytest.raises(InvalidValue, match=message) if message else nullcontext():
                engine.check(*rule)


def test_a_rule_has_so_many_regular_expressions() -> None:
    engine.check([clause("matches", "x", f"a{number}") for number in range(20)], [])
    with pytest.raises(InvalidValue, match="21 regular expressions are too many: a rule may have 20"):
        engine.check([clause("!contains", "x", "a")] * 21, [])


def test_a_loop_has_so_many_items() -> None:
    engine.check([], [clause("fail", "x", loop=[1] * 1000)])
    with pytest.raises(InvalidValue, match="A loop of 1001 items is too long: it may have 1000"):
        engine.check([], [clause("fail", "x", loop=[1] * 1001)])
