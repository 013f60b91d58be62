"""The service in process, as functional tests drive it."""

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from sqlalchemy import event, select
from sqlalchemy.orm import Session
from webtest import TestApp, TestResponse

from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.conductor import answering
from baremetal_sched.conductor.answering import Answering
from baremetal_sched.conductor.daemon import ConductorDaemon
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.db.models import Node, NodeHistory
from baremetal_sched.db.transaction import Database
from baremetal_sched.scheduling.api import webhook_makers
from tests import applications, enrolment
from tests.waiting import PATIENCE

LATEST = "1.115"
NODES = "/baremetal/v1/nodes"

#: Work that needs more rounds of a conductor makes itself again and again.
_MOST_ROUNDS = 500

#: For strategy ``noauth2``: everything in the bare metal API is theirs.
ADMINISTRATOR = {"X-Auth-Token": "admin", "X-Roles": "admin,manager,member,reader", "OpenStack-System-Scope": "all"}


_RUNNING: list["Service"] = []


def end_polling() -> None:
    """End these threads of all services that run."""
    for service in _RUNNING:
        service.end_polling()


class Service:
    """The WSGI application over a database, its conductors, and short ways to call both APIs."""

    def __init__(self, database_url: str, **overrides: dict[str, Any]) -> None:
        self.database_url = database_url
        self._overrides = {
            "database": {"connection": database_url, "max_pool_size": 5},
            "conductor": {
                "heartbeat_interval": 0.2,
                "heartbeat_timeout": 3600,  # conductors that are only registered send none
                "node_locked_retry_attempts": 2,
                "node_locked_retry_interval": 0.01,
            },
        }
        for group, values in overrides.items():
            self._overrides.setdefault(group, {}).update(values)
        self._application = applications.take(self._overrides)
        self.app = self._application.app
        self.http = TestApp(self._application)
        self.database: Database = self.app.database
        self.conductors: dict[str, ConductorDaemon] = {}
        self.app.drivers.on_call = self.call_drivers
        _RUNNING.append(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all work; another service may use the application from now on."""
        if self in _RUNNING:
            _RUNNING.remove(self)
        self.end_polling()
        _await_threads()
        self._application.end()

    def end_polling(self) -> None:
        """End the threads that look for replies and decisions, and delete replies. The next request begins new ones."""
        self.app.drivers.close()
        self.app.decisions.close()

    def disconnect(self) -> None:
        """End all work, and close the connections to the database. The next request opens new ones."""
        self.end_polling()
        _await_threads()
        self.database.dispose()

    def add_conductor(self, host: str, group: str = "") -> ConductorDaemon:
        """A conductor that is registered; its work is done when ``work`` is called."""
        conductor = self._conductor(host, group)
        conductor.register()
        return conductor

    def resume_conductor(self, host: str) -> ConductorDaemon:
        """A conductor that the database has as registered and alive."""
        conductor = self._conductor(host)
        conductor._is_registered = True
        return conductor

    def _conductor(self, host: str, group: str = "") -> ConductorDaemon:
        overrides = {name: dict(values) for name, values in self._overrides.items()}
        overrides.setdefault("DEFAULT", {})["host"] = host
        overrides["conductor"]["conductor_group"] = group
        settings = self._application.settings(overrides)
        conductor = ConductorDaemon(self.database, settings, rights=webhook_makers.rights(settings))
        self.conductors[host] = conductor
        return conductor

    def call_drivers(self, host: str) -> None:
        """Make the calls that requests wait for, as the conductor of this name does all the time."""
        conductor = self.conductors.get(host)
        if conductor is None:  # one that is only registered
            settings = self.app.settings
            called = Answering(ConductorHost(host, self.database, settings), "a process of its own")
        else:
            called = conductor.answering
        for call_id in self.database.select(lambda connection: answering._waiting(connection, host)):
            called._make(call_id)

    def work(self) -> None:
        """Let every conductor do all that is pending."""
        for conductor in self.conductors.values():
            rounds = 0
            while doing := conductor.work_once():
                for done in wait(doing).done:
                    done.result()
                rounds += 1
                assert rounds < _MOST_ROUNDS, "the work of the conductor does not end"

    def baremetal(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        version: str = LATEST,
        status: int | str | None = None,
        headers: dict[str, str] | None = None,
    ) -> TestResponse:
        """A request to ``/baremetal/v1<path>``; ``status`` is the one expected (any 2xx or 3xx if not given)."""
        headers = {"X-OpenStack-Ironic-API-Version": version, **ADMINISTRATOR, **(headers or {})}
        return self._request("/baremetal/v1" + path, method, body, headers, status)

    def placement(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        version: str = "1.39",
        status: int | str | None = None,
        headers: dict[str, str] | None = None,
    ) -> TestResponse:
        """A request to ``/placement<path>``."""
        headers = {"OpenStack-API-Version": f"placement {version}", **(headers or {})}
        return self._request("/placement" + path, method, body, headers, status)

    def compute(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        version: str = "2.100",
        status: int | str | None = None,
        headers: dict[str, str] | None = None,
    ) -> TestResponse:
        """A request to ``/compute/v2.1<path>``."""
        headers = {"OpenStack-API-Version": f"compute {version}", **(headers or {})}
        return self._request("/compute/v2.1" + path, method, body, headers, status)

    def add_flavor(self, name: str, *, specs: dict[str, str] | None = None, **fields: Any) -> str:
        """A flavor with these fields and extra specs; returns its id."""
        body = {"flavor": {"name": name, "ram": 1024, "vcpus": 2, "disk": 10, **fields}}
        flavor: str = self.compute("POST", "/flavors", body).json["flavor"]["id"]
        if specs:
            self.compute("POST", f"/flavors/{flavor}/os-extra_specs", {"extra_specs": specs})
        return flavor

    def _request(
        self, url: str, method: str, body: Any, headers: dict[str, str], status: int | str | None
    ) -> TestResponse:
        call = getattr(self.http, method.lower() if body is None else f"{method.lower()}_json")
        arguments = (url,) if body is None else (url, body)
        return call(*arguments, headers=headers, status=status)

    def add_node(
        self,
        name: str | None = None,
        *,
        resource_class: str | None = "gold",
        traits: tuple[str, ...] = (),
        power: bool = True,
        **fields: Any,
    ) -> str:
        """A node that is available; returns its UUID. With ``power`` its power is on, so that placement offers it.

        It is entered as rows, where all that is given is stored as it is, and by requests otherwise.
        """
        values = {"name": name, "resource_class": resource_class, **fields}
        if not fields.keys() <= enrolment.PLAIN_FIELDS:
            return enrolment.by_requests(self, values, traits, power=power)
        settings = self.app.settings
        return self.database.write(lambda session: enrolment.enrol(session, settings, values, traits, power=power))

    @contextmanager
    def statements(self) -> Iterator[list[str]]:
        """The SQL statements that are executed meanwhile (BEGIN and COMMIT do not count)."""
        seen: list[str] = []

        def note(connection: Any, cursor: Any, sent: str, parameters: Any, context: Any, many: bool) -> None:
            statement = context.statement  # what is sent may be the EXECUTE of it
            if not statement.startswith(("BEGIN", "COMMIT", "ROLLBACK")):
                seen.append(statement)

        engines = {self.database.engine, self.database.reading_engine}
        for engine in engines:
            event.listen(engine, "before_cursor_execute", note)
        try:
            yield seen
        finally:
            for engine in engines:
                event.remove(engine, "before_cursor_execute", note)

    def node(self, ident: str, version: str = LATEST) -> dict[str, Any]:
        """The node as the API shows it."""
        document: dict[str, Any] = self.baremetal("GET", f"/nodes/{ident}", version=version).json
        return document

    def patch(self, ident: str, *operations: tuple[Any, ...], version: str = LATEST, **expected: Any) -> TestResponse:
        """PATCH a node with operations: ``("add", "/extra/a", 1)``."""
        return self.patch_at(f"/nodes/{ident}", *operations, version=version, **expected)

    def patch_at(self, path: str, *operations: tuple[Any, ...], version: str = LATEST, **expected: Any) -> TestResponse:
        """PATCH the resource at ``path`` with operations of this form."""
        body = [
            {"op": kind, "path": place, **({"value": value[0]} if value else {})} for kind, place, *value in operations
        ]
        return self.baremetal("PATCH", path, body, version=version, **expected)

    def set_columns(self, uuid: str, **values: Any) -> None:
        """Change columns of a node behind the API's back, as later provisioning would."""
        self.database.write(lambda session: self._set_columns(session, uuid, values))

    @staticmethod
    def _set_columns(session: Session, uuid: str, values: dict[str, Any]) -> None:
        node = nodes.find_for_change(session, uuid)
        for name, value in values.items():
            setattr(node, name, value)

    def steps_done(self, uuid: str) -> list[str]:
        """The steps that were done on a node, the first one first, as its history has them."""
        query = select(NodeHistory.event).join(Node).where(Node.uuid == uuid, NodeHistory.event.like("Step % is done"))
        events = self.database.read(lambda session: session.scalars(query.order_by(NodeHistory.id)).all())
        return [event.removeprefix("Step ").removesuffix(" is done") for event in events]

    def inventory(self, uuid: str) -> dict[str, Any]:
        """The inventories of a provider, by class."""
        inventories: dict[str, Any] = self.placement("GET", f"/resource_providers/{uuid}/inventories").json[
            "inventories"
        ]
        return inventories

    def provider_traits(self, uuid: str) -> list[str]:
        """The traits of a provider."""
        traits: list[str] = self.placement("GET", f"/resource_providers/{uuid}/traits").json["traits"]
        return traits

    def candidates(self, query: str, version: str = "1.39") -> set[str]:
        """UUIDs of the providers that ``GET /allocation_candidates?<query>`` offers."""
        document = self.placement("GET", f"/allocation_candidates?{query}", version=version).json
        return {provider for request in document["allocation_requests"] for provider in request["allocations"]}

    def claim(
        self,
        consumer: str,
        provider: str,
        resource_class: str = "CUSTOM_GOLD",
        *,
        amount: int = 1,
        generation: int | None = None,
        status: int | str | None = None,
    ) -> TestResponse:
        """PUT /allocations/{consumer} for one provider."""
        body = {
            "allocations": {provider: {"resources": {resource_class: amount}}},
            "consumer_generation": generation,
            "project_id": "p",
            "user_id": "u",
            "consumer_type": "INSTANCE",
        }
        return self.placement("PUT", f"/allocations/{consumer}", body, status=status)


def fault(response: TestResponse) -> str:
    """The message of an error of the bare metal API."""
    document = json.loads(response.json["error_message"])
    return document.get("faultstring") or document.get("description") or ""


def _await_threads(seconds: float = PATIENCE) -> None:
    """Wait for threads of conductors and requests, which may be using the database; a disk may be slow for a while."""
    until = time.monotonic() + seconds
    for thread in threading.enumerate():
        if thread.name.startswith(("conductor-", "driver-")):
            thread.join(max(0.0, until - time.monotonic()))
            assert not thread.is_alive(), f"{thread.name} has not ended: let it go before the test is over"
