"""What becomes of a webhook whose maker has other rights than before, or is gone."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from oslo_config import cfg
from sqlalchemy import update

from baremetal_sched.db.models import Webhook, table_of
from baremetal_sched.scheduling.api import webhook_makers
from baremetal_sched.settings import load
from baremetal_sched.web.caller import Caller
from tests import passing_time
from tests.functional.scheduling.happening import happen
from tests.functional.scheduling.test_webhook_deliveries import deliver
from tests.functional.test_http_basic import basic
from tests.functional.ui.logging_in import BEHIND, file_settings, line_of
from tests.receiver import Receiver
from tests.service import Service

HOOKS = table_of(Webhook)
OF_ROOT = "root: {roles: [admin], system_scope: all}\n"
OF_ANN = "ann: {roles: [admin], project_id: a}\n"
DAY = 86_400.0


class Users:
    """The files of users and of roles, as an operator changes them."""

    def __init__(self, folder: Path) -> None:
        self.options = {**file_settings(folder), "events": {"allowed_hosts": "127.0.0.1"}}
        self.users, self.roles = folder / "users", folder / "roles"
        self.users.write_text("".join(line_of(name) for name in ("root", "ann", "ben")))
        self.assign(OF_ROOT + OF_ANN + "ben: {roles: [admin], project_id: a}\n")

    def assign(self, text: str) -> None:
        self.roles.write_text(text)


@pytest.fixture
def users(tmp_path: Path) -> Users:
    return Users(tmp_path)


@pytest.fixture
def service(database_url: str, users: Users) -> Iterator[Service]:
    with Service(database_url, **users.options) as running:
        yield running


def ask(service: Service, name: str, method: str, path: str = "", body: Any = None, status: int = 200) -> Any:
    """Send a request about webhooks as a user of the file."""
    headers = basic(name, name + BEHIND)
    address = f"/scheduling/v1/webhooks{path}"
    if body is None:
        answer = service.http.request(address, method=method, headers=headers, status=status)
        return answer.json if answer.body else None
    return getattr(service.http, f"{method.lower()}_json")(address, body, headers=headers, status=status).json


def make(service: Service, receiver: Receiver, name: str = "ann") -> str:
    made: dict[str, Any] = ask(service, name, "POST", "", {"url": receiver.url}, 201)
    return f"/{made['uuid']}"


def state(service: Service, path: str) -> tuple[str, str | None]:
    shown = ask(service, "root", "GET", path)
    return shown["state"], shown["last_error"]


def test_roles_and_scope_of_today_count(service: Service, users: Users, receiver: Receiver) -> None:
    """A new password changes nothing."""
    path = make(service, receiver)
    users.users.write_text(line_of("root") + line_of("ann", "another password"))
    happen(service, "n1", projects=("a",))
    deliver(service)
    assert receiver.subjects == ["n1"]
    users.assign(OF_ROOT + "ann: {roles: [service], project_id: a}\n")
    happen(service, "of all", projects=("b",))
    deliver(service)
    assert receiver.subjects == ["n1", "of all"]
    users.assign(OF_ROOT + "ann: {roles: [], project_id: a}\n")
    happen(service, "n2", projects=("a",))
    assert ask(service, "root", "GET", path)["behind"] is None
    deliver(service)
    assert state(service, path) == ("active", "Its maker may no longer read events.")
    assert receiver.subjects == ["n1", "of all"]


def test_without_its_maker_a_webhook_is_parked(
    service: Service, users: Users, receiver: Receiver, subtests: pytest.Subtests
) -> None:
    """It stays parked when a user of that name comes again, until one of its project resumes it."""
    everyone, roles = users.users.read_text(), users.roles.read_text()
    advice = "A user of its project can resume it, and becomes its maker."
    moved = "Its maker ann has another project or scope now."
    for number, (kept, assigned, reason) in enumerate([
        (everyone.replace("ann:", "eve:"), roles, "Its maker ann is no longer a user."),
        (everyone, roles.replace(OF_ANN, OF_ANN.replace("project_id: a", "project_id: b")), moved),
        (everyone, roles.replace(OF_ANN, OF_ANN.replace("project_id: a", "system_scope: all")), moved),
    ]):  # fmt: skip
        with subtests.test(reason=reason, number=number):
            path = make(service, receiver)
            users.users.write_text(kept)
            users.assign(assigned)
            happen(service, f"n{number}", projects=("a", "b"))
            deliver(service)
            parked = ("parked", f"{reason} {advice}")
            assert state(service, path) == parked
            assert ask(service, "root", "POST", f"{path}/resume", status=409)["error"]["message"] == parked[1]
            users.users.write_text(everyone)
            users.assign(roles)
            assert deliver(service) == 0
            assert len(receiver.received) == number
            assert ask(service, "ben", "POST", f"{path}/resume")["user_id"] == "ben"
            deliver(service)
            assert receiver.subjects[number:] == [f"n{number}"]
            ask(service, "ben", "DELETE", path, status=204)


def test_a_file_that_cannot_be_read_is_no_reason_to_park(service: Service, users: Users, receiver: Receiver) -> None:
    """However long that lasts."""
    path = make(service, receiver)
    happen(service, "n1", projects=("a",))
    text, rights = users.roles.read_text(), webhook_makers.rights(service.app.settings)
    users.roles.unlink()
    for _ in range(3):
        passing_time.go_by(service, DAY)
        deliver(service, rights)
    users.roles.write_text(text)
    reason = "The rights of its maker are unknown: The file of roles cannot be read."
    assert state(service, path) == ("active", reason)
    passing_time.go_by(service, DAY)
    deliver(service, rights)
    assert receiver.subjects == ["n1"]
    assert state(service, path) == ("active", None)


def test_without_a_file_of_roles_makers_may_read_everything(
    database_url: str, users: Users, receiver: Receiver
) -> None:
    files = {"http_basic_auth_user_file": str(users.users)}
    with Service(database_url, **{**users.options, "DEFAULT": files}) as service:
        make(service, receiver)
        happen(service, "n1", projects=("b",))
        deliver(service)
    assert receiver.subjects == ["n1"]


def test_an_administrator_resumes_a_webhook_of_its_own_kind(service: Service, users: Users, receiver: Receiver) -> None:
    """The maker stays, unless it is gone."""
    users.users.write_text("".join(line_of(name) for name in ("root", "sue")))
    users.assign(OF_ROOT + OF_ROOT.replace("root", "sue"))
    path = make(service, receiver, "sue")
    assert ask(service, "root", "POST", f"{path}/resume")["user_id"] == "sue"
    users.users.write_text(line_of("root"))
    assert ask(service, "root", "POST", f"{path}/resume")["user_id"] == "root"


def test_a_webhook_of_another_strategy_is_parked(
    database_url: str, users: Users, receiver: Receiver, subtests: pytest.Subtests
) -> None:
    """Releases that did not note the strategy are known by the credentials that they did note."""
    parked = "It was made under another [api] auth_strategy."
    old: dict[str, Caller] = {
        "none": Caller(unrestricted=True),
        "noauth2": Caller("ann", "a", ("admin",)),
        "keystone": Caller("0a1b", "a", ("admin",), user_name="ann"),
        "http_basic": Caller("ann", "a", ("admin",), user_name="ann"),
    }
    with Service(database_url, **users.options) as service:
        path = make(service, receiver)
        for name, caller in old.items():
            for is_noted in (True, False):
                with subtests.test(name, noted=is_noted):
                    settings: Any = SimpleNamespace(api=SimpleNamespace(auth_strategy=name))
                    maker = webhook_makers.document_of(caller, settings)
                    assert maker["auth_strategy"] == name
                    noted = maker if is_noted else {key: maker[key] for key in maker if key != "auth_strategy"}
                    _rewrite(service, maker=noted, parked=False, retry_at=0)
                    happen(service, f"{name} {is_noted}", projects=("a",))
                    deliver(service)
                    is_parked = state(service, path)[0] == "parked"
                    assert is_parked == (name != "http_basic")
                    assert not is_parked or str(state(service, path)[1]).startswith(parked)


def _rewrite(service: Service, **values: Any) -> None:
    service.database.change(lambda connection: connection.execute(update(HOOKS).values(**values)))


def test_a_conductor_without_a_strategy_parks_nothing(service: Service, users: Users, receiver: Receiver) -> None:
    path = make(service, receiver)
    happen(service, "n1", projects=("a",))
    settings = load(overrides={"events": users.options["events"]})
    deliver(service, webhook_makers.rights(settings))
    reason = "The rights of its maker are unknown: [api] auth_strategy is not set for this conductor."
    assert state(service, path) == ("active", reason)


@pytest.mark.sqlite_only
def test_a_conductor_that_sends_needs_the_files(users: Users, subtests: pytest.Subtests) -> None:
    for lost in (users.users, users.roles):
        with subtests.test(lost.name):
            text = lost.read_text()
            lost.unlink()
            with pytest.raises(cfg.Error, match=f"The file of {lost.name} .* cannot be used: No such file"):
                webhook_makers.rights(load(overrides=users.options))
            webhook_makers.rights(load(overrides={**users.options, "events": {"webhooks_interval": 0}}))
            lost.write_text(text)
