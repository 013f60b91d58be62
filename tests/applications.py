"""Applications that are used again: a worker makes one for each set of overrides, and not one for each test.

Between two tests its database is empty, and what an application remembers is as when it was made. One that cannot be
put back so is not used again: if it counts (metrics), or remembers callers (credentials), or listens to its engine.
"""

import json
import os
import sqlite3
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Engine, event

from baremetal_sched.app import create_app
from baremetal_sched.settings import Settings, load

#: Applications that wait for their next test. Each keeps some connections open.
_MOST_IDLE = 12
_OPEN = (None, "none", "noauth2")
#: Groups whose options name files, or make the application remember its callers.
_NOT_AGAIN = {"keystone_authtoken", "oslo_policy", "service_user"}
#: Paths whose answers the application remembers.
_REMEMBERED = ("/metrics", "/healthcheck")
_EVENTS = ("before_cursor_execute", "after_cursor_execute", "begin", "commit", "rollback")
_EVENTS_OF_DIALECTS = ("do_connect", "do_execute", "do_executemany", "do_execute_no_params", "handle_error")
_EVENTS_OF_POOLS = ("connect", "checkout", "checkin", "close")

_idle: OrderedDict[str, "Application"] = OrderedDict()


class Application:
    """An application, and the settings of its conductors."""

    def __init__(self, overrides: Mapping[str, Mapping[str, Any]]) -> None:
        self._key = _key(overrides)
        self._may_be_used_again = (
            overrides.get("api", {}).get("auth_strategy") in _OPEN
            and not _NOT_AGAIN & set(overrides)
            and "secrets_key_file" not in overrides["database"]
        )
        self.app = create_app(overrides)
        self.database = self.app.database
        for engine in (self.database.engine, self.database.schema._engine):
            if engine.dialect.name == "sqlite":
                event.listen(engine, "connect", never_wait_for_the_disk)
        self._settings: dict[str, Settings] = {}
        self._parts = [
            vars(part)
            for part in (self.app, self.database, self.database.writes, self.database.schema, self.app.drivers)
        ]
        self._as_made = [dict(part) for part in self._parts]
        self._listeners = self._count_listeners()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        if environ["PATH_INFO"].startswith(_REMEMBERED):
            self._may_be_used_again = False
        return self.app(environ, start_response)

    def settings(self, overrides: Mapping[str, Mapping[str, Any]]) -> Settings:
        """Return the settings with these overrides, of a conductor beside the application."""
        key = _key(overrides)
        if key not in self._settings:
            self._settings[key] = load(overrides=overrides)
        return self._settings[key]

    def end(self) -> None:
        """Keep the application for another test if it can be used again; close its connections otherwise."""
        if not self._may_be_used_again or self._count_listeners() != self._listeners or self._key in _idle:
            self.database.dispose()
            return
        for part, before in zip(self._parts, self._as_made, strict=True):
            part.clear()
            part.update(before)
        self.database._memory.clear()
        _idle[self._key] = self
        if len(_idle) > _MOST_IDLE:
            _idle.popitem(last=False)[1].database.dispose()

    def _count_listeners(self) -> list[int]:
        engines = {self.database.engine, self.database.reading_engine, self.database.schema._engine}
        return [count for engine in sorted(engines, key=id) for count in _listeners_of(engine)]


def take(overrides: Mapping[str, Mapping[str, Any]]) -> Application:
    """Return an unused application with these overrides."""
    return _idle.pop(_key(overrides), None) or Application(overrides)


def forget() -> None:
    """Close the connections of all idle applications."""
    while _idle:
        _idle.popitem()[1].database.dispose()


def _key(overrides: Mapping[str, Mapping[str, Any]]) -> str:
    environment = {name: value for name, value in os.environ.items() if name.startswith(("OS_", "BAREMETAL_SCHED_"))}
    return json.dumps([overrides, environment], sort_keys=True, default=repr)


def never_wait_for_the_disk(connection: sqlite3.Connection, record: object) -> None:
    """No test cuts the power."""
    connection.execute("PRAGMA synchronous = OFF").close()


def _listeners_of(engine: Engine) -> list[int]:
    places: tuple[tuple[Any, Sequence[str]], ...] = (
        (engine.dispatch, _EVENTS),
        (engine.dialect.dispatch, _EVENTS_OF_DIALECTS),
        (engine.pool.dispatch, _EVENTS_OF_POOLS),
    )
    return [len(list(getattr(dispatch, name))) for dispatch, names in places for name in names]
