"""The released python-ironicclient, in this process, when the service cannot answer yet."""

from typing import Any

import pytest
import requests
from ironicclient import exc
from ironicclient.v1.client import Client
from keystoneauth1.noauth import NoAuth
from keystoneauth1.session import Session
from requests.adapters import BaseAdapter
from webtest import TestApp

from baremetal_sched.errors import DatabaseAway
from tests.service import Service

URL = "http://localhost/baremetal"


class InProcess(BaseAdapter):
    """Sends requests to the application itself; ``interrupted`` of them find it without a database."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self._app = TestApp(service.app)
        self._database = service.database
        self.interrupted = 0
        self.statuses: list[int] = []

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """Return the application's answer as the client gets it over HTTP."""
        with pytest.MonkeyPatch.context() as patch:
            if self.interrupted:
                self.interrupted -= 1
                patch.setattr(self._database, "_run", _away)
            body = request.body.encode() if isinstance(request.body, str) else request.body or b""
            said = self._app.request(
                request.path_url, method=request.method, body=body, headers=request.headers, status="*"
            )
        response = requests.Response()
        response.status_code, response._content, response.request = said.status_int, said.body, request
        response.headers.update(said.headers)
        self.statuses.append(said.status_int)
        return response

    def close(self) -> None:
        """Nothing is open."""


def _away(*args: Any, **kwargs: Any) -> None:
    raise DatabaseAway


@pytest.fixture
def sent(service: Service) -> InProcess:
    """How the client's requests are sent."""
    service.add_node("n1", power=False)
    return InProcess(service)


@pytest.fixture
def client(sent: InProcess) -> Client:
    """The client, which tries as often as it does by default, and hardly waits."""
    session = Session(auth=NoAuth(endpoint=URL))
    session.mount("http://", sent)
    return Client(session=session, endpoint_override=URL, os_ironic_api_version="1.115", retry_interval=0.001)


def test_it_tries_again_until_the_database_is_back(client: Client, sent: InProcess) -> None:
    sent.interrupted = 5
    assert [node.name for node in client.node.list()] == ["n1"]
    assert sent.statuses == [503] * 5 + [200]
    sent.interrupted = 1
    client.node.update("n1", [{"op": "add", "path": "/extra/a", "value": "b"}])
    assert client.node.get("n1").extra == {"a": "b"}


def test_it_says_why_if_it_gives_up(client: Client, sent: InProcess) -> None:
    sent.interrupted = 6
    with pytest.raises(exc.ServiceUnavailable, match="The database cannot be reached"):
        client.node.list()
    assert sent.statuses == [503] * 6
