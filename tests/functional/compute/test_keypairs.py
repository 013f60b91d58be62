# tier: first
"""/os-keypairs: imported and generated, at the microversions at which they change."""

from datetime import datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from tests.restored import restored
from tests.service import Service
from tests.unchanged import unchanged

#: Ed25519, with the fingerprint that ``ssh-keygen -l -E md5`` prints.
PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE5vHVSmuTxJ5ivDGgnJgnwnFhR9v4GSuIRFFbBVKqm9 me@here"


def create(service: Service, version: str = "2.100", *, status: int | None = None, **values: Any) -> Any:
    body = {"keypair": {"name": "mine", **values}}
    return service.compute("POST", "/os-keypairs", body, version=version, status=status).json


def names(document: dict[str, Any]) -> list[str]:
    return [each["keypair"]["name"] for each in document["keypairs"]]


def test_import_show_list_and_delete(service: Service, subtests: pytest.Subtests) -> None:
    for version, status in [("2.1", 200), ("2.2", 201), ("2.10", 201), ("2.100", 201)]:
        with subtests.test(version=version):
            user = service.app.settings.compute.user_id
            created = create(service, version, status=status, public_key=PUBLIC_KEY)["keypair"]
            short = {"name": "mine", "public_key": PUBLIC_KEY, "fingerprint": created["fingerprint"]}
            if version != "2.1":
                short["type"] = "ssh"
            assert created == {**short, "user_id": user}
            shown = service.compute("GET", "/os-keypairs/mine", version=version).json["keypair"]
            assert isinstance(shown.pop("id"), int)
            assert datetime.fromisoformat(shown.pop("created_at"))
            assert shown == {**created, "updated_at": None, "deleted": False, "deleted_at": None}
            assert service.compute("GET", "/os-keypairs", version=version).json == {"keypairs": [{"keypair": short}]}
            service.compute("DELETE", "/os-keypairs/mine", version=version, status=202 if version == "2.1" else 204)
            for method in ("GET", "DELETE"):
                error = service.compute(method, "/os-keypairs/mine", version=version, status=404).json["itemNotFound"]
                assert error["message"] == f"Keypair mine not found for user {user}"


def test_a_pair_is_generated_below_2_92(service: Service) -> None:
    created = create(service, "2.91")["keypair"]
    private = serialization.load_ssh_private_key(created["private_key"].encode(), None)
    public = serialization.load_ssh_public_key(created["public_key"].encode())
    assert private.public_key() == public
    assert "private_key" not in service.compute("GET", "/os-keypairs/mine").json["keypair"]
    again = create(service, name="again", public_key=created["public_key"])["keypair"]
    assert again["fingerprint"] == created["fingerprint"]
    assert "public_key" in create(service, "2.92", status=400, name="other")["badRequest"]["message"]


def test_x509(service: Service) -> None:
    error = create(service, "2.10", status=400, type="x509")["badRequest"]["message"]
    assert "Give its public_key" in error
    assert "PEM" in create(service, status=400, type="x509", public_key=PUBLIC_KEY)["badRequest"]["message"]
    create(service, "2.1", status=400, type="ssh", public_key=PUBLIC_KEY)


def test_names(service: Service, subtests: pytest.Subtests) -> None:
    for version, name, fine in [
        ("2.91", "a b_c-1", True),
        ("2.91", "a@b", False),
        ("2.91", "a.b", False),
        ("2.92", "a@b.c", True),
        ("2.92", "a/b", False),
        ("2.92", "", False),
        ("2.92", " a", False),
        ("2.92", "x" * 256, False),
        ("2.92", "größe", False),
    ]:
        with subtests.test(version=version, name=name), restored(service):
            create(service, version, name=name, public_key=PUBLIC_KEY, status=201 if fine else 400)
            assert names(service.compute("GET", "/os-keypairs").json) == ([name] if fine else [])


def test_keys_that_are_refused(service: Service, subtests: pytest.Subtests) -> None:
    with unchanged(service):
        for key in ["", "nonsense", "ssh-rsa AAAA", PUBLIC_KEY[:40], 1, None, "x" * 70_000]:
            with subtests.test(key=key):
                create(service, status=400, public_key=key)


def test_a_name_is_taken_once_by_each_user(service: Service) -> None:
    create(service, public_key=PUBLIC_KEY)
    error = create(service, status=409, public_key=PUBLIC_KEY)["conflictingRequest"]
    assert error == {"code": 409, "message": "Key pair 'mine' already exists."}
    create(service, public_key=PUBLIC_KEY, user_id="u2")
    assert service.compute("GET", "/os-keypairs/mine?user_id=u2").json["keypair"]["user_id"] == "u2"
    service.compute("DELETE", "/os-keypairs/mine?user_id=u2")
    assert names(service.compute("GET", "/os-keypairs?user_id=u2").json) == []
    assert names(service.compute("GET", "/os-keypairs").json) == ["mine"]


def test_users_before_2_10(service: Service) -> None:
    create(service, "2.9", status=400, public_key=PUBLIC_KEY, user_id="u2")
    service.compute("GET", "/os-keypairs?user_id=u2", version="2.9", status=400)


def test_pages(service: Service) -> None:
    for name in ("c", "a", "b"):
        create(service, name=name, public_key=PUBLIC_KEY)
    first = service.compute("GET", "/os-keypairs?limit=2").json
    assert names(first) == ["a", "b"]
    (link,) = first["keypairs_links"]
    assert link["href"].endswith("/compute/v2.1/os-keypairs?limit=2&marker=b")
    assert names(service.compute("GET", "/os-keypairs?limit=2&marker=b").json) == ["c"]
    # Clients page at microversions that have no links.
    assert service.compute("GET", "/os-keypairs?limit=2", version="2.10").json.keys() == {"keypairs"}
    assert names(service.compute("GET", "/os-keypairs?limit=2&marker=a", version="2.10").json) == ["b", "c"]
    error = service.compute("GET", "/os-keypairs?marker=none", status=400).json["badRequest"]
    assert error["message"] == "Marker none could not be found."
    service.compute("GET", "/os-keypairs?other=1", status=400)


def test_users_see_their_own(database_url: str) -> None:
    admin, user = {"X-Auth-Token": "admin"}, {"X-Auth-Token": "u1:p1", "X-Roles": "member"}
    body = {"keypair": {"name": "mine", "public_key": PUBLIC_KEY}}
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        assert service.compute("POST", "/os-keypairs", body, headers=user).json["keypair"]["user_id"] == "u1"
        for path in ("/os-keypairs?user_id=admin", "/os-keypairs/mine?user_id=admin"):
            error = service.compute("GET", path, headers=user, status=403).json["forbidden"]
            assert "os_compute_api:os-keypairs" in error["message"]
        assert names(service.compute("GET", "/os-keypairs?user_id=u1", headers=user).json) == ["mine"]
        assert names(service.compute("GET", "/os-keypairs?user_id=u1", headers=admin).json) == ["mine"]
        assert names(service.compute("GET", "/os-keypairs", headers=admin).json) == []
