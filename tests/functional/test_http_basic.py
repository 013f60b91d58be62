"""Strategy http_basic, as every API has it."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import bcrypt
import pytest
from flask import Request
from oslo_config import cfg
from webtest import TestResponse

from baremetal_sched.app import create_app
from baremetal_sched.settings import load
from baremetal_sched.web.authentication.http_basic import HttpBasic
from baremetal_sched.web.authentication.password_checks import FAILURES
from baremetal_sched.web.caller import Caller
from tests.service import Service

#: A list of each API.
LISTS = {
    "baremetal": "/baremetal/v1/nodes",
    "placement": "/placement/resource_providers",
    "compute": "/compute/v2.1/flavors",
    "image": "/image/v2/images",
}

ROLES = """
root: {roles: [admin], system_scope: all}
ann: {roles: [member], project_id: p1}
"""


def hashed(password: str) -> str:
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode()


def basic(name: str, password: str | bytes) -> dict[str, str]:
    """Headers that say who is calling."""
    encoded = password.encode() if isinstance(password, str) else password
    return {"Authorization": "Basic " + base64.b64encode(name.encode() + b":" + encoded).decode()}


@pytest.fixture
def users(tmp_path: Path) -> Path:
    """The file of users; the password of each is the name, backwards."""
    path = tmp_path / "users"
    path.write_text("".join(f"{name}:{hashed(name[::-1])}\n" for name in ("root", "ann", "bob", "jürgen")))
    return path


@pytest.fixture
def closed(database_url: str, users: Path) -> Iterator[Service]:
    """The service with users who may do everything."""
    options = {"http_basic_auth_user_file": str(users)}
    with Service(database_url, DEFAULT=options, api={"auth_strategy": "http_basic"}) as running:
        running.add_conductor("c1")
        yield running


def get(service: Service, path: str, headers: dict[str, str] | None = None, address: str = "192.0.2.1") -> TestResponse:
    extra = {"REMOTE_ADDR": address}
    return service.http.get(path, headers=headers or {}, extra_environ=extra, expect_errors=True)


def error_of(api: str, answer: TestResponse) -> tuple[int, str]:
    """Code and message of an error, from the shape that the API gives it."""
    document = json.loads(answer.body)
    match api:
        case "baremetal":
            fault = json.loads(document["error_message"])
            return answer.status_int, fault["faultstring"]
        case "placement" if answer.status_int == 401:
            assert document["code"] == "401 Unauthorized"
            return answer.status_int, document["message"]
        case "placement":
            (error,) = document["errors"]
            return error["status"], error["detail"]
        case "compute":
            ((_, error),) = document.items()
            return error["code"], error["message"]
        case "image":
            return int(document["code"].split()[0]), document["message"]
    raise AssertionError(api)


def test_users_may_do_everything(closed: Service, subtests: pytest.Subtests) -> None:
    for api in LISTS:
        with subtests.test(api=api):
            assert get(closed, LISTS[api], basic("ann", "nna")).status_int == 200


def test_a_user_makes_things_in_every_api(closed: Service) -> None:
    closed.http.authorization = ("Basic", ("ann", "nna"))
    node = closed.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1"}, status=201).json
    assert node["owner"] is None
    closed.placement("POST", "/resource_providers", {"name": "p1"}, status=200)
    flavor = {"flavor": {"name": "f1", "ram": 1, "vcpus": 1, "disk": 1}}
    closed.compute("POST", "/flavors", flavor, status=200)
    closed.http.post_json("/image/v2/images", {"name": "i1"}, status=201)


def test_others_are_401_in_the_shape_of_the_api(closed: Service, subtests: pytest.Subtests) -> None:
    for api in LISTS:
        for headers in [
            {},
            {"X-Auth-Token": "admin", "X-Roles": "admin", "X-User-Id": "ann", "OpenStack-System-Scope": "all"},
            basic("ann", "wrong"),
            basic("ann", ""),
            basic("Ann", "nna"),
            basic("eve", "eve"),
            basic("", ""),
            basic("ann", "x" * 73),
            basic("ann", "nna\0"),
            basic("ann", b"\xff\xfe"),
        ]:
            with subtests.test(api=api, headers=headers):
                answer = get(closed, LISTS[api], {**headers, "Accept": "application/json"})
                code, message = error_of(api, answer)
                assert (answer.status_int, code) == (401, 401)
                assert answer.headers["WWW-Authenticate"] == 'Basic realm="baremetal-sched", charset="UTF-8"'
                expected = "Incorrect username or password" if "Authorization" in headers else "requires authentication"
                assert expected in message


def test_what_is_no_password_at_all_is_400(closed: Service, subtests: pytest.Subtests) -> None:
    """As with Ironic."""
    for api in LISTS:
        for header, reason in [
            ("Bearer abcdef", "Unsupported authorization type"),
            ("abcdef", "Unsupported authorization type"),
            ("Basic", "NAME:PASSWORD in base64"),
            ("Basic !!!", "NAME:PASSWORD in base64"),
            ("Basic YW5u", "NAME:PASSWORD in base64"),  # ann
            ("Basic /zp4", "NAME:PASSWORD in base64"),  # a name that is not UTF-8
        ]:
            with subtests.test(api=api, header=header):
                answer = get(closed, LISTS[api], {"Authorization": header, "Accept": "application/json"})
                code, message = error_of(api, answer)
                assert (answer.status_int, code) == (400, 400)
                assert reason in message
                assert "abcdef" not in answer.text


def test_names_are_utf_8_and_the_scheme_has_any_case(closed: Service) -> None:
    header = basic("jürgen", "negrüj")["Authorization"].replace("Basic ", "bAsIc  ")
    assert get(closed, LISTS["baremetal"], {"Authorization": header}).status_int == 200


def test_unknown_paths_are_not_told_from_known_ones(closed: Service, subtests: pytest.Subtests) -> None:
    for path in ["/nothing", "/baremetal/v1/nothing", "/compute/v2.1/nothing", "/placement/nothing"]:
        with subtests.test(path=path):
            assert get(closed, path).status_int == 401
            assert get(closed, path, basic("ann", "nna")).status_int == 404


def test_public_paths_need_no_password(closed: Service, subtests: pytest.Subtests) -> None:
    """Nor is one looked at that comes with the request."""
    for path, status in [
        ("/", 200),
        ("/healthcheck", 200),
        ("/healthcheck/live", 200),
        ("/baremetal", 200),
        ("/baremetal/v1", 200),
        ("/placement/", 200),
        ("/compute", 200),
        ("/image", 300),
    ]:
        with subtests.test(path=path):
            assert get(closed, path).status_int == status
            assert get(closed, path, basic("ann", "wrong")).status_int == status


def test_too_many_failures_are_429(closed: Service, subtests: pytest.Subtests) -> None:
    """For this address, and not for those whose password is known to be right."""
    for number, api in enumerate(LISTS):
        with subtests.test(api=api):
            mine = f"192.0.2.{number}"
            assert get(closed, LISTS[api], basic("bob", "bob"), address=mine).status_int == 200
            for failure in range(FAILURES):
                assert get(closed, LISTS[api], basic("ann", f"{mine} {failure}"), address=mine).status_int == 401
            accept = {"Accept": "application/json"}
            answer = get(closed, LISTS[api], basic("ann", "nna") | accept, address=mine)
            code, message = error_of(api, answer)
            assert (answer.status_int, code) == (429, 429)
            assert f"Too many failed log-ins from {mine}." in message
            assert 1 <= int(answer.headers.get("Retry-After", 1)) <= 6
            assert ("Retry-After" in answer.headers) == (api != "baremetal")
            assert "WWW-Authenticate" not in answer.headers
            assert get(closed, LISTS[api], basic("bob", "bob"), address=mine).status_int == 200
    for path in LISTS.values():
        assert get(closed, path, basic("ann", "nna"), address="192.0.2.99").status_int == 200


def test_the_address_is_that_behind_a_trusted_proxy(database_url: str, users: Path) -> None:
    options = {"http_basic_auth_user_file": str(users)}
    trusted = {"enable_proxy_headers_parsing": True}
    with Service(
        database_url, DEFAULT=options, api={"auth_strategy": "http_basic"}, oslo_middleware=trusted
    ) as service:
        for number in range(FAILURES):
            forwarded = {"X-Forwarded-For": "198.51.100.7"}
            assert get(service, LISTS["image"], basic("ann", str(number)) | forwarded).status_int == 401
        assert get(service, LISTS["image"], basic("ann", "nna") | forwarded).status_int == 429
        assert get(service, LISTS["image"], basic("ann", "nna") | {"X-Forwarded-For": "198.51.100.8"}).status_int == 200


def test_changes_of_the_file_are_followed(closed: Service, users: Path) -> None:
    path = LISTS["placement"]
    assert get(closed, path, basic("ann", "nna")).status_int == 200
    users.write_text(f"ann:{hashed('new')}\n")
    assert get(closed, path, basic("ann", "nna")).status_int == 401
    assert get(closed, path, basic("ann", "new")).status_int == 200
    assert get(closed, path, basic("root", "toor")).status_int == 401
    users.unlink()
    answer = get(closed, path, {**basic("ann", "new"), "Accept": "application/json"})
    assert answer.status_int == 503
    assert answer.headers["Retry-After"] == "1"
    assert "The file of users cannot be read" in answer.text


def test_without_a_valid_file_there_is_no_start(database_url: str, tmp_path: Path, users: Path) -> None:
    def start(**options: str) -> None:
        overrides = {"database": {"connection": database_url}, "api": {"auth_strategy": "http_basic"}}
        create_app({**overrides, "DEFAULT": options})

    with pytest.raises(cfg.Error, match=r"The file of users .*missing cannot be used: No such file"):
        start(http_basic_auth_user_file=str(tmp_path / "missing"))
    with pytest.raises(cfg.Error, match=r"The file of roles .*missing cannot be used: No such file"):
        start(http_basic_auth_user_file=str(users), http_basic_auth_roles_file=str(tmp_path / "missing"))
    users.write_text(f"{users.read_text()}eve:plain\n")
    with pytest.raises(cfg.Error, match=r"The file of users .*users cannot be used: line 5: the password of 'eve'"):
        start(http_basic_auth_user_file=str(users))


@pytest.fixture
def tenants(database_url: str, users: Path, tmp_path: Path) -> Iterator[Service]:
    """The service with users who have roles."""
    roles = tmp_path / "roles.yaml"
    roles.write_text(ROLES)
    options = {"http_basic_auth_user_file": str(users), "http_basic_auth_roles_file": str(roles)}
    with Service(database_url, DEFAULT=options, api={"auth_strategy": "http_basic"}) as running:
        yield running


def test_roles_make_users_tenants(tenants: Service, tmp_path: Path) -> None:
    """Who is not in the file has no role; changes are followed."""

    def status(name: str) -> int:
        return get(tenants, "/placement/resource_providers", basic(name, name[::-1])).status_int

    assert [status(name) for name in ("ann", "bob")] == [403, 403]
    roles = tmp_path / "roles.yaml"
    roles.write_text(f"{ROLES}bob: {{roles: [admin], project_id: p2}}\n")
    assert [status(name) for name in ("ann", "bob")] == [403, 200]
    roles.write_text("bob: nonsense")
    assert [status(name) for name in ("ann", "bob")] == [403, 200]


def test_callers(users: Path, tmp_path: Path) -> None:
    """Each caller as the APIs see it."""

    def caller(name: str, **options: str) -> Caller:
        strategy = HttpBasic(load(overrides={"DEFAULT": {"http_basic_auth_user_file": str(users), **options}}))
        return strategy.authenticate(Request({"HTTP_AUTHORIZATION": basic(name, name[::-1])["Authorization"]}))

    assert caller("ann") == Caller("ann", user_name="ann", unrestricted=True)
    roles = tmp_path / "roles.yaml"
    roles.write_text(ROLES)
    given = {"http_basic_auth_roles_file": str(roles)}
    every = ("admin", "manager", "member", "reader")
    assert caller("ann", **given) == Caller("ann", "p1", ("member", "reader"), user_name="ann")
    assert caller("root", **given) == Caller("root", None, every, "all", user_name="root")
    assert caller("bob", **given) == Caller("bob", user_name="bob")
