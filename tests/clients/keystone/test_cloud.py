"""The Keystone of the tests itself: what a token says is what its person is."""

from typing import Any

import pytest

from tests.clients.keystone.cloud import Keystone
from tests.clients.keystone.people import PEOPLE


def said_of(keystone: Keystone, token: str) -> Any:
    return keystone.ask("GET", "/auth/tokens", **{"X-Subject-Token": token})["token"]


@pytest.mark.parametrize("name", PEOPLE)
def test_everyone_gets_a_token_for_the_scope_of_the_role(keystone: Keystone, name: str) -> None:
    person, said = PEOPLE[name], said_of(keystone, keystone.token(name))
    assert said["user"]["name"] == name
    assert person.role in {role["name"] for role in said["roles"]}
    scopes = {kind for kind in ("system", "domain", "project") if kind in said}
    assert scopes == {person.scope if person.scope in ("system", "domain") else "project"}
    if "project" in said:
        assert said["project"]["id"] == keystone.project_ids[person.scope]


def test_roles_imply_others(keystone: Keystone) -> None:
    said = said_of(keystone, keystone.token("red-manager"))
    assert {role["name"] for role in said["roles"]} == {"manager", "member", "reader"}


def test_a_token_without_a_scope_has_no_roles(keystone: Keystone) -> None:
    assert "roles" not in said_of(keystone, keystone.new_token("red-member", scoped=False))


def test_the_catalogue_has_what_is_offered(keystone: Keystone) -> None:
    keystone.offer({"object-store": "http://127.0.0.1:1/v1"})
    keystone.offer({"object-store": "http://127.0.0.1:2/v1"})
    catalogue = said_of(keystone, keystone.new_token("red-reader"))["catalog"]
    urls = {service["type"]: {each["url"] for each in service["endpoints"]} for service in catalogue}
    assert urls["object-store"] == {"http://127.0.0.1:2/v1"}
    assert urls["identity"] == {f"{keystone.url}/v3"}
