"""Errors in a file of policies."""

import re

import pytest

from baremetal_sched.web.policy import OptionalRules
from baremetal_sched.web.policy_file import problems

APIS = {
    "baremetal": {"admin": "role:admin", "node:get": "rule:admin", "node:delete": "rule:admin"},
    "image": {"get_image": "", "delete_image": "role:admin"},
}


def test_nothing_is_wrong(subtests: pytest.Subtests) -> None:
    for text in [
        "",
        "# nothing but a comment",
        '"node:get": "role:reader"',
        '"node:get": "@"\n"get_image": "!"',
        '"node:get": "rule:mine"\n"mine": "role:reader and not role:guest"',
        '"node:get": "rule:admin or project_id:%(node.owner)s"',
    ]:
        with subtests.test(text=text):
            assert problems(text, APIS) == []


OPTIONAL = {"baremetal": [OptionalRules(re.compile(r"step:(bios|raid)\..+"), "step:<interface>.<step>", "Steps")]}


def test_rules_without_defaults_are_asked_for() -> None:
    assert problems('"step:bios.reset": "rule:mine"\n"mine": "rule:admin"', APIS, OPTIONAL) == []


def test_rules_without_defaults_are_checked_like_others(subtests: pytest.Subtests) -> None:
    for text, found in [
        ('"step:power.reset": "@"', "Nothing asks for the rule step:power.reset."),
        ('"step:bios.reset": "role:admin andd more"', "The check of step:bios.reset cannot be parsed"),
        ('"step:bios.reset": "rule:nowhere"', "step:bios.reset of the baremetal API uses the rule nowhere"),
        ('"step:bios.reset": "rule:step:bios.reset"', "Rules reference each other in a circle: step:bios.reset ->"),
    ]:
        with subtests.test(text=text):
            (problem,) = problems(text, APIS, OPTIONAL)
            assert problem.startswith(found)


def test_one_thing_is_wrong(subtests: pytest.Subtests) -> None:
    for text, found in [
        ("{", "The file is not YAML"),
        ("[1]", "The file must map rule names to checks."),
        ('"node:gett": "@"', "Nothing asks for the rule node:gett. Did you mean 'node:get'?"),
        ('"node:get": "role:admin andd more"', "The check of node:get cannot be parsed"),
        ('"node:get": "anything"', "The check of node:get cannot be parsed"),
        ('"node:get": 7', "The check of node:get cannot be parsed"),
        ('"node:get": "rule:nowhere"', "node:get of the baremetal API uses the rule nowhere"),
        ('"get_image": "rule:admin"', "get_image of the image API uses the rule admin"),
        ('"get_image": "rule:mine"\n"mine": "rule:admin"', "mine of the image API uses the rule admin"),
        ('"node:get": "rule:node:get"', "Rules reference each other in a circle: node:get -> node:get."),
        ('"admin": "rule:node:get"', "Rules reference each other in a circle: admin -> node:get -> admin."),
    ]:
        with subtests.test(text=text):
            (problem,) = problems(text, APIS)
            assert problem.startswith(found)
