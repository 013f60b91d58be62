# tier: first
"""/flavors/{id}/os-extra_specs, checked at every microversion."""

from typing import Any

import pytest

from tests.service import Service
from tests.unchanged import unchanged

VERSIONS = ("2.1", "2.61", "2.86", "2.100")


@pytest.fixture
def path(service: Service) -> str:
    return f"/flavors/{service.add_flavor('gold')}/os-extra_specs"


def post(service: Service, path: str, specs: dict[str, Any], **options: Any) -> Any:
    return service.compute("POST", path, {"extra_specs": specs}, **options).json


def specs_of(service: Service, path: str) -> dict[str, str]:
    return service.compute("GET", path).json["extra_specs"]


def test_set_show_and_unset(service: Service, path: str) -> None:
    specs = {"resources:CUSTOM_GOLD": "1", "trait:CUSTOM_NVME": "required", "plain": "x"}
    assert post(service, path, specs) == {"extra_specs": specs}
    assert specs_of(service, path) == specs
    assert service.compute("GET", f"{path}/plain").json == {"plain": "x"}
    assert service.compute("PUT", f"{path}/plain", {"plain": "y"}).json == {"plain": "y"}
    post(service, path, {"more": "z"})
    assert specs_of(service, path) == {**specs, "plain": "y", "more": "z"}
    answer = service.compute("DELETE", f"{path}/plain", status=200)
    assert answer.body == b""
    assert specs_of(service, path) == {"resources:CUSTOM_GOLD": "1", "trait:CUSTOM_NVME": "required", "more": "z"}
    for method in ("GET", "DELETE"):
        error = service.compute(method, f"{path}/plain", status=404).json["itemNotFound"]
        assert error["message"].endswith("has no extra specs with key plain.")


def test_numbers_are_kept_as_texts(service: Service, path: str) -> None:
    assert post(service, path, {"a": 1, "b": 1.5}) == {"extra_specs": {"a": 1, "b": 1.5}}
    assert specs_of(service, path) == {"a": "1", "b": "1.5"}


def test_wrong_ones_are_refused_at_every_microversion(service: Service, path: str, subtests: pytest.Subtests) -> None:
    with unchanged(service):
        for version in VERSIONS:
            for specs in [
                {"resources:CUSTOM_GOLD": "-1"},
                {"resources:GOLD": "1"},
                {"trait:CUSTOM_NVME": "yes"},
                {"traits:CUSTOM_NVME": "required"},
                {"hw:cpu_policy": "dedicated"},
                {"group_policy": "other"},
            ]:
                with subtests.test(version=version, specs=specs):
                    (key,) = specs
                    answer = post(service, path, {"fine": "1", **specs}, version=version, status=400)
                    assert key in answer["badRequest"]["message"]
                    answer = service.compute("PUT", f"{path}/{key}", specs, version=version, status=400).json
                    assert key in answer["badRequest"]["message"]


def test_rules_across_keys_are_judged_on_the_flavor_as_it_would_be(service: Service, path: str) -> None:
    post(service, path, {"resources1:CUSTOM_A": "1"})
    assert post(service, path, {"resources2:CUSTOM_B": "1"}, status=400)
    post(service, path, {"resources2:CUSTOM_B": "1", "group_policy": "none"})
    assert set(specs_of(service, path)) == {"resources1:CUSTOM_A", "resources2:CUSTOM_B", "group_policy"}


def test_a_key_can_always_be_removed(service: Service, path: str) -> None:
    """``flavor unset`` sends one DELETE a key, in the order in which they were named."""
    post(service, path, {"resources1:CUSTOM_A": "1", "resources2:CUSTOM_B": "1", "group_policy": "none"})
    service.compute("DELETE", f"{path}/group_policy")
    assert post(service, path, {"plain": "x"}, status=400)
    service.compute("DELETE", f"{path}/resources2:CUSTOM_B")
    post(service, path, {"plain": "x"})
    assert set(specs_of(service, path)) == {"resources1:CUSTOM_A", "plain"}


def test_bodies_that_are_refused(service: Service, path: str, subtests: pytest.Subtests) -> None:
    with unchanged(service):
        for body in [
            {},
            {"extra_specs": None},
            {"extra_specs": {"": "x"}},
            {"extra_specs": {"a/b": "x"}},
            {"extra_specs": {"a" * 256: "x"}},
            {"extra_specs": {"a": "x" * 256}},
            {"extra_specs": {"a": int("9" * 256)}},
            {"extra_specs": {"a": None}},
            {"extra_specs": {"a": True}},
            {"extra_specs": {"a": ["x"]}},
            {"extra_specs": {}, "other": 1},
        ]:
            with subtests.test(body=body):
                assert service.compute("POST", path, body, status=400).json["badRequest"]["message"]


def test_bodies_of_one_key(service: Service, path: str) -> None:
    error = service.compute("PUT", f"{path}/a", {"b": "x"}, status=400).json["badRequest"]
    assert error["message"] == "Request body and URI mismatch"
    for body in ({}, {"a": "x", "b": "y"}):
        service.compute("PUT", f"{path}/a", body, status=400)


def test_of_a_flavor_that_is_not_there(service: Service) -> None:
    path = "/flavors/none/os-extra_specs"
    service.compute("GET", path, status=404)
    post(service, path, {"a": "b"}, status=404)
    service.compute("GET", f"{path}/a", status=404)
    service.compute("PUT", f"{path}/a", {"a": "b"}, status=404)
    service.compute("DELETE", f"{path}/a", status=404)
