"""What is wrong with a file of policies."""

import pytest

from baremetal_sched.web.policy_file import problems

APIS = {
    "baremetal": {"admin": "role:admin", "node:get": "rule:admin", "node:delete": "rule:admin"},
    "image": {"get_image": "", "delete_image": "role:admin"},
}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing but a comment",
        '"node:get": "role:reader"',
        '"node:get": "@"\n"get_image": "!"',
        '"node:get": "rule:mine"\n"mine": "role:reader and not role:guest"',
        '"node:get": "rule:admin or project_id:%(node.owner)s"',
    ],
)
def test_nothing_is_wrong(text: str) -> None:
    assert problems(text, APIS) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{", "The file is not YAML"),
        ("[1]", "The file has to map names of rules to checks."),
        ('"node:gett": "@"', "Nothing asks for the rule node:gett. Did you mean 'node:get'?"),
        ('"node:get": "role:admin andd more"', "The check of node:get cannot be understood"),
        ('"node:get": "anything"', "The check of node:get cannot be understood"),
        ('"node:get": 7', "The check of node:get cannot be understood"),
        ('"node:get": "rule:nowhere"', "node:get of the baremetal API names the rule nowhere"),
        ('"get_image": "rule:admin"', "get_image of the image API names the rule admin"),
        ('"get_image": "rule:mine"\n"mine": "rule:admin"', "mine of the image API names the rule admin"),
        ('"node:get": "rule:node:get"', "Rules name one another in a circle: node:get -> node:get."),
        ('"admin": "rule:node:get"', "Rules name one another in a circle: admin -> node:get -> admin."),
    ],
)
def test_one_thing_is_wrong(text: str, found: str) -> None:
    (problem,) = problems(text, APIS)
    assert problem.startswith(found)
