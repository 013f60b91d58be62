"""As much of Keystone as keystonemiddleware needs to check tokens, in a thread. It knows the tokens that it is told of.

Its address is in the settings that ``FakeKeystone.settings`` returns. It can be told to be in trouble.
"""

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

_DOMAIN = {"id": "default", "name": "Default"}
_OWN = "token-of-the-service-itself"


class FakeKeystone:
    """``asked`` has every token that Keystone was asked about. ``trouble``: what is answered instead, whatever it is
    asked."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[str] = []
        self.trouble: Callable[[], Response] | None = None
        self._tokens: dict[str, dict[str, Any]] = {}

    def issue(
        self,
        user: str = "alice",
        *roles: str,
        project: str | None = None,
        domain: str | None = None,
        system: bool = False,
        seconds: float = 3600,
        **more: Any,
    ) -> str:
        """A token that is valid for so many seconds. Ids are names with a ``-id`` behind them."""
        scope: dict[str, Any] = {}
        if project is not None:
            scope["project"] = {"id": f"{project}-id", "name": project, "domain": _DOMAIN}
        if domain is not None:
            scope["domain"] = {"id": f"{domain}-id", "name": domain}
        if system:
            scope["system"] = {"all": True}
        if roles:
            scope["roles"] = [{"id": f"{role}-id", "name": role} for role in roles]
        token = uuid4().hex
        self._tokens[token] = self._said(user, seconds) | scope | more
        return token

    def revoke(self, token: str) -> None:
        """Forget the token."""
        del self._tokens[token]

    def settings(self, **options: Any) -> dict[str, dict[str, Any]]:
        """For a service that believes in these tokens, with further options of ``[keystone_authtoken]``."""
        user = {"username": "sched", "password": "secret-of-sched", "user_domain_id": "default"}
        own = {"auth_type": "password", "auth_url": self.url, "project_name": "service", "project_domain_id": "default"}
        return {"api": {"auth_strategy": "keystone"}, "keystone_authtoken": {**user, **own, **options}}

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        return self._answer(Request(environ))(environ, start_response)

    def _answer(self, request: Request) -> Response:
        if self.trouble is not None:
            return self.trouble()
        match request.method, request.path.rstrip("/"):
            case "GET", "" | "/v3":
                links = [{"rel": "self", "href": f"{self.url}/v3/"}]
                version = {"id": "v3.14", "status": "stable", "links": links}
                return _reply({"version": version} if request.path != "/" else {"versions": {"values": [version]}}, 200)
            case "POST", "/v3/auth/tokens":
                endpoint = {"interface": "internal", "region": "R", "region_id": "R", "url": f"{self.url}/v3"}
                catalogue = [{"type": "identity", "name": "keystone", "id": "i", "endpoints": [endpoint]}]
                return _reply({"token": self._said("sched", 3600) | {"catalog": catalogue}}, 201, _OWN)
            case "GET", "/v3/auth/tokens":
                return self._validation(request)
        return _reply({"error": {"code": 404}}, 404)

    def _validation(self, request: Request) -> Response:
        asked = request.headers["X-Subject-Token"]
        self.asked.append(asked)
        said = self._tokens.get(asked)
        if said is None or (_is_over(said) and request.args.get("allow_expired") != "1"):
            return _reply({"error": {"code": 404, "message": "There is no such token."}}, 404)
        return _reply({"token": said}, 200, asked)

    @staticmethod
    def _said(user: str, seconds: float) -> dict[str, Any]:
        now = datetime.now(UTC)
        return {
            "methods": ["password"],
            "user": {"id": f"{user}-id", "name": user, "domain": _DOMAIN},
            "issued_at": _time(now),
            "expires_at": _time(now + timedelta(seconds=seconds)),
            "catalog": [{"type": "baremetal", "name": "ironic", "id": "b", "endpoints": []}],
        }


@contextmanager
def fake_keystone() -> Iterator[FakeKeystone]:
    """A Keystone on a free port."""
    keystone = FakeKeystone()
    server = make_server("127.0.0.1", 0, keystone, threaded=True, request_handler=_Quiet)
    keystone.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield keystone
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def failing(status: int) -> Response:
    """An answer that is an error."""
    return _reply({"error": {"code": status, "message": "Something is wrong."}}, status)


class _Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:
        """Requests are counted, not logged."""


def _is_over(said: dict[str, Any]) -> bool:
    return said["expires_at"] <= _time(datetime.now(UTC))


def _time(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _reply(document: dict[str, Any], status: int, token: str | None = None) -> Response:
    headers = {} if token is None else {"X-Subject-Token": token}
    return Response(json.dumps(document), status, headers, mimetype="application/json")
