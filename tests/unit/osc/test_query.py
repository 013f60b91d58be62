"""Options as queries."""

import argparse
import ast
import re
from pathlib import Path

import pytest
from osc_lib.exceptions import CommandError

from baremetal_sched import osc
from baremetal_sched.osc.query import add_query_options, candidate_query, placement_class
from baremetal_sched.osc.tables import plain
from baremetal_sched.placement.names import resource_class_of


def query(*words: str) -> str | None:
    """The query that the options mean."""
    parser = argparse.ArgumentParser()
    add_query_options(parser)
    return candidate_query(parser.parse_args(words))


QUERIES = {
    "": None,
    "--query ?resources=A:1": "resources=A:1",
    "--resource A=1 --resource B:2": "resources=A:1,B:2",
    "--resource A=1 --required T --forbidden U --required V": "resources=A:1&required=T,V,!U",
    "--required T,U --required V": "required=V&required=in:T,U",
    "--member-of a --member-of b,c --in-tree d": "member_of=a&member_of=in:b,c&in_tree=d",
    "--group 1 --resource A=1 --required T --group _x --resource A=2 --group-policy isolate": (
        "resources1=A:1&required1=T&resources_x=A:2&group_policy=isolate"
    ),
    "--resource A=1 --required <b>&x=1": "resources=A:1&required=%3Cb%3E%26x%3D1",
}


def test_queries(subtests: pytest.Subtests) -> None:
    for options in QUERIES:
        with subtests.test(options=options):
            assert query(*options.split()) == QUERIES[options]


def test_amounts_that_are_none(subtests: pytest.Subtests) -> None:
    for amount in ["A", "A=", "=1", "A=-1", "A=x", "A=\u0661"]:
        with subtests.test(amount=amount), pytest.raises(CommandError, match="CLASS=AMOUNT"):
            query("--resource", amount)


def test_groups_that_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        query("--group", "a b", "--resource", "A=1")
    assert "the name of a request group" in capsys.readouterr().err


def test_classes_are_named_as_the_service_does(subtests: pytest.Subtests) -> None:
    for name in ["gold", "gold.v1", "CUSTOM_GOLD", "a--b", "Größe", "x_", ""]:
        with subtests.test(name=name):
            assert placement_class(name) == resource_class_of(name)


def test_terminals_are_told_nothing() -> None:
    assert plain("a\x1b[31mb\u202ec\n\x00") == "a\\u001b[31mb\\u202ec\\u000a\\u0000"
    assert plain(None) == ""


def test_help_is_written_in_sentences() -> None:
    modules = sorted((Path(osc.__path__[0])).glob("*.py"))
    helps = [
        ast.literal_eval(keyword.value)
        for module in modules
        for call in ast.walk(ast.parse(module.read_text()))
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "help" and isinstance(keyword.value, ast.Constant)
    ]
    assert len(helps) > 30
    assert [each for each in helps if not re.fullmatch(r"[A-Z].*[.)]", each)] == []
