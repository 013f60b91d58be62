"""People who log in to the pages, as their browsers do: forms are read from pages, and sent with their cookies."""

from pathlib import Path
from typing import Any

import bcrypt
from sqlalchemy import select, update
from webtest import TestResponse

from baremetal_sched.db.models import PageSession
from baremetal_sched.db.models.base import table_of
from tests.service import Service

#: What a browser sends with a page that its person asks for.
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
#: Passwords are these behind the name of the user.
BEHIND = "'s password"
ROLES = "root: {roles: [admin], system_scope: all}\nann: {roles: [member], project_id: p1}\n"
_SESSIONS = table_of(PageSession)


def line_of(name: str, password: str | None = None) -> str:
    """A line of the file of users."""
    hashed = bcrypt.hashpw((password or name + BEHIND).encode(), bcrypt.gensalt(4)).decode()
    return f"{name}:{hashed}\n"


def file_settings(folder: Path) -> dict[str, dict[str, Any]]:
    """The settings of a service with users ``root`` and ``ann``, whose files are ``users`` and ``roles``."""
    for name, text in [("users", line_of("root") + line_of("ann")), ("roles", ROLES)]:
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    files = {"http_basic_auth_user_file": str(folder / "users"), "http_basic_auth_roles_file": str(folder / "roles")}
    return {"DEFAULT": files, "api": {"auth_strategy": "http_basic"}}


def submit(page: TestResponse, action: str, status: int | str = 303, /, *, nth: int = 0, **fields: str) -> TestResponse:
    """Send the form of a page that leads to ``action``, with these fields; of several the ``nth``."""
    form = [each for index, each in page.forms.items() if isinstance(index, int) and each.action == action][nth]
    for name, value in fields.items():
        form[name] = value
    return form.submit(headers=BROWSER, status=status)


def log_in(
    service: Service, user: str, password: str | None = None, *, next: str = "", status: int | str = 303
) -> TestResponse:
    """Log in with a password, and return the answer."""
    page = service.http.get("/ui/login", {"next": next} if next else {}, headers=BROWSER)
    return submit(page, "/ui/login", status, user=user, password=password or user + BEHIND)


def get(service: Service, path: str = "/", status: int = 200) -> TestResponse:
    """A page, as a browser asks for it."""
    return service.http.get(f"/ui{path}", headers=BROWSER, status=status)


def rows(service: Service) -> list[Any]:
    """The sessions that there are, the oldest first."""
    query = select(_SESSIONS).order_by(_SESSIONS.c.id)
    return list(service.database.select(lambda connection: connection.execute(query).all()))


def go_by(service: Service, seconds: float) -> None:
    """Let so many seconds pass for sessions."""
    times = (_SESSIONS.c.created_at, _SESSIONS.c.used_at, _SESSIONS.c.expires_at)
    statement = update(_SESSIONS).values({each.name: each - seconds for each in times})
    service.database.change(lambda connection: connection.execute(statement) and None)
