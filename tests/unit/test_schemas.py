"""Documents against JSON schemas: the quick validator must not take what the exact one refuses."""

import re
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baremetal_sched.placement import query_values
from baremetal_sched.placement.schemas import allocations, associations, common, inventories, providers
from baremetal_sched.placement.schemas.common import validation_error

UUID = "2f1a9cf0-6b0e-4c57-8d5c-7f0b1d7a3c11"

SCHEMAS: dict[str, tuple[dict[str, Any], bool]] = {
    **{f"put {version}": (allocations.put_schema(version), False) for version in (0, 12, 28, 38)},
    "post": (allocations.post_schema(38), False),
    "reshape": (allocations.reshape_schema(38), False),
    "inventory": (inventories.CREATE, False),
    "inventories": (inventories.REPLACE, False),
    "provider": (providers.create(14), False),
    "aggregates": (associations.AGGREGATES, False),
    "only aggregates": (associations.AGGREGATES_ONLY, False),
    "traits": (associations.TRAITS, False),
    "class": (associations.RESOURCE_CLASS, False),
    **{f"candidates {version}": (query_values.candidates_schema(version), True) for version in (24, 25, 36)},
    "providers": (query_values.providers_schema(18), True),
    "usages": (query_values.usages_schema(38), True),
}

#: Keys and texts near the edges of patterns, formats and lengths.
TEXTS = ["", "a", "VCPU", "CUSTOM_A", "CUSTOM_", "CUSTOM_A\n", "CUSTOM_Ä", "٣", "all", "unknown\n", "\ud800", "isolate"]
TEXTS += ["0", "1", "10", "1\n", "x" * 200, "x" * 201, "x" * 255, "x" * 256, "😀" * 255, "😀" * 256]
TEXTS += [UUID, UUID.upper(), UUID.replace("-", ""), f"{{{UUID}}}", f"{UUID}\n", "-" * 36, "g" * 36, f"urn:uuid:{UUID}"]
TEXTS += ["limit", "resources", "resources1", "resources_A", "required\n", "required2", "in_tree_" + "x" * 63]
TEXTS += ["member_of", "member_of" + "x" * 64, "member_of" + "x" * 65]
NUMBERS = [1, 2, 3, 4, 5, 6, 1.0, -1, 0, 1.5, 2**31 - 1, 2**31, 2.0**31, 2**63, 10**400, 1e308]
VALUES = st.recursive(
    st.sampled_from([*NUMBERS, True, False, None, *TEXTS]),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(TEXTS), below, max_size=3),
    max_leaves=5,
)


def near(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """A document that ``schema`` might have been made for, with something else here and there."""
    if "anyOf" in schema:
        fitting = st.one_of(*map(near, schema["anyOf"]))
    else:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        fitting = st.one_of(*(of_kind(kind, schema) for kind in kinds))
    return st.integers(0, 20).flatmap(lambda number: VALUES if number == 20 else fitting)


def of_kind(kind: str, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    match kind:
        case "object":
            return objects(schema)
        case "array":
            return st.lists(near(schema["items"]), min_size=schema.get("minItems", 0), max_size=3)
        case "string":
            return st.sampled_from(schema.get("enum") or texts(schema))
        case "null":
            return st.none()
        case _:
            return st.sampled_from(NUMBERS)


def objects(schema: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    required = schema.get("required", ())
    named = {name: near(below) for name, below in schema.get("properties", {}).items()}
    parts = [
        st.fixed_dictionaries(
            {name: below for name, below in named.items() if name in required},
            optional={name: below for name, below in named.items() if name not in required},
        )
    ]
    for pattern, below in schema.get("patternProperties", {}).items():
        names = st.sampled_from(texts({"pattern": pattern}))
        parts.append(st.dictionaries(names, near(below), min_size=1, max_size=2))
    odd = st.dictionaries(st.sampled_from(TEXTS), VALUES, min_size=1, max_size=1)
    parts.append(st.integers(0, 9).flatmap(lambda number: odd if number == 9 else st.just({})))
    return st.tuples(*parts).map(lambda found: {name: value for part in found for name, value in part.items()})


def texts(schema: dict[str, Any]) -> list[str]:
    """Documents that fit, and some that nearly do."""
    if "format" in schema:
        return [text for text in TEXTS if UUID[:8] in text.lower()]
    return [text for text in TEXTS if re.search(schema.get("pattern", ""), text)]


def test_what_the_quick_validator_takes_the_exact_one_takes(subtests: pytest.Subtests) -> None:
    for name, (schema, query) in SCHEMAS.items():
        with subtests.test(name):
            _compare(schema, query)


def _compare(schema: dict[str, Any], query: Any) -> None:
    @given(near(schema))
    def compare(document: Any) -> None:
        said = validation_error(document, schema, query=query)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(common, "_is_fine", lambda *arguments: False)
            assert validation_error(document, schema, query=query) == said

    compare()


def test_the_quick_validator_decides_what_is_plainly_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "_schema", partial(pytest.fail, "jsonschema was asked"))
    claim = {
        "allocations": {UUID: {"resources": {"CUSTOM_A": 1}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    assert validation_error(claim, allocations.put_schema(38)) is None
    assert (
        validation_error({"resources": "VCPU:1", "limit": "1"}, query_values.candidates_schema(36), query=True) is None
    )
