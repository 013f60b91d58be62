"""A short run of the differential test. The long one: ``python -m tests.conformance.differential``."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.conformance.differential.calls import Answer, Call, Generation, Known, Raw
from tests.conformance.differential.comparison import compare
from tests.conformance.differential.generator import Generator
from tests.conformance.differential.runner import Finding, Runner
from tests.conformance.differential.sides import original, ours

#: A Python that has openstack-placement. The tests' own has it, for its test suite (the extra [test]).
PYTHON = os.environ.get("PLACEMENT_PYTHON") or sys.executable
#: How many calls are made: these take less than a minute of a processor.
CALLS = int(os.environ.get("DIFFERENTIAL_CALLS", "1000"))


@pytest.mark.ci
def test_both_answer_the_same(tmp_path: Path) -> None:
    """Random calls are answered alike by us and by the original."""
    findings: list[Finding] = []
    with ours(tmp_path) as our_side, original(PYTHON, tmp_path) as original_side:
        report = Runner(our_side, original_side, tell=findings.append).run(seed=1, calls=CALLS)
    assert not findings, "\n".join(map(str, findings))
    assert report.calls >= CALLS
    # Calls that are only refused show little.
    assert sum(count for (_, status), count in report.statuses.items() if status < 300) > CALLS / 2


def test_calls_depend_on_the_seed_alone() -> None:
    """A difference that was found can be found again."""
    one, same, other = (Generator(seed) for seed in ("1.0", "1.0", "1.1"))
    calls = [[str(call) for _ in range(100) for call in generator.next()] for generator in (one, same, other)]
    assert calls[0] == calls[1] != calls[2]


def test_generations_are_those_of_the_latest_answers() -> None:
    known = Known()
    body = {"resource_provider_generation": Generation("provider", "p"), "later": [Generation("provider", "p", 2)]}
    assert known.fill(body) == {"resource_provider_generation": 0, "later": [2]}
    known.learn(
        Call("GET", "/resource_providers/p/traits", "1.39"), Answer(200, {}, '{"resource_provider_generation": 5}')
    )
    assert known.fill(body) == {"resource_provider_generation": 5, "later": [7]}
    assert known.fill(Generation("consumer", "c")) is None


def test_what_counts_as_a_difference() -> None:
    """The order of a list does not, nor the host of a location; a value does, and a complaint unless it frees."""
    call = Call("GET", "/traits", "1.39")
    one = Answer(200, {"location": "http://a/x"}, '{"traits": ["A", "B"]}')
    assert not compare(call, one, Answer(200, {"location": "http://b:1/x"}, '{"traits": ["B", "A"]}'))
    lost = [Answer(409, {}, json.dumps({"errors": [{"detail": f"Unable to allocate inventory: {n}"}]})) for n in "ab"]
    frees, raw = ({"allocations": {"c": {"allocations": {}}}}, Raw("{"))
    for body, count in ((frees, 0), (frees["allocations"], 1), (raw, 1), (None, 1)):
        assert len(compare(Call("POST", "/reshaper", "1.39", body), *lost)) == count
    other = Answer(200, {"location": "http://b/y"}, '{"traits": ["B"]}')
    assert {difference.aspect for difference in compare(call, one, other)} == {"body", "header:location"}
