"""As much of Keystone as keystonemiddleware needs to check tokens, and people to log in, in a thread. It knows the
tokens and the people that it is told of.

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
        self.revoked: list[str] = []
        self._tokens: dict[str, dict[str, Any]] = {}
        self._passwords: dict[str, str] = {}
        self._credentials: dict[str, tuple[str, str, str, dict[str, Any]]] = {}
        #: Roles by user, and by project; None is the system.
        self._roles: dict[str, dict[str | None, tuple[str, ...]]] = {}

    def add_user(self, user: str, password: str, roles: dict[str | None, tuple[str, ...]]) -> None:
        """Let a user of the domain Default log in, with roles by project; None is the system."""
        self._passwords[user], self._roles[user] = password, roles

    def add_credential(self, ident: str, secret: str, user: str, project: str, **more: Any) -> None:
        """An application credential of a user for a project, with further members such as ``access_rules``."""
        self._credentials[ident] = (secret, user, project, {"id": ident, "restricted": True, **more})

    def disable(self, user: str) -> None:
        """Refuse the user, whose tokens are not valid any more."""
        del self._passwords[user]
        self._tokens = {name: said for name, said in self._tokens.items() if said["user"]["name"] != user}

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
            case "POST", "/v3/auth/tokens" if (person := _person_in(request.get_json())) is not None:
                return self._log_in(*person)
            case "GET", "/v3/auth/projects" | "/v3/auth/system" as path:
                return self._scopes(request.headers["X-Auth-Token"], path.rsplit("/")[-1])
            case "DELETE", "/v3/auth/tokens":
                self.revoked.append(request.headers["X-Subject-Token"])
                self._tokens.pop(self.revoked[-1], None)
                return _reply({}, 200)
            case "POST", "/v3/auth/tokens":
                endpoint = {"interface": "internal", "region": "R", "region_id": "R", "url": f"{self.url}/v3"}
                catalogue = [{"type": "identity", "name": "keystone", "id": "i", "endpoints": [endpoint]}]
                return _reply({"token": self._said("sched", 3600) | {"catalog": catalogue}}, 201, _OWN)
            case "GET", "/v3/auth/tokens":
                return self._validation(request)
        return _reply({"error": {"code": 404}}, 404)

    def _log_in(self, method: str, given: dict[str, Any], scope: Any) -> Response:
        """Issue a token, if the person is who it says, and has a role in the scope."""
        more: dict[str, Any] = {}
        match method:
            case "password" if given["user"]["domain"] == {"name": "Default"}:
                user = given["user"]["name"]
                is_right = self._passwords.get(user) == given["user"]["password"]
            case "application_credential" if given["id"] in self._credentials:
                secret, user, project, more["application_credential"] = self._credentials[given["id"]]
                is_right, scope = secret == given["secret"], {"project": {"id": f"{project}-id"}}
            case "token" if given["id"] in self._tokens:
                user, is_right = self._tokens[given["id"]]["user"]["name"], True
            case _:
                user, is_right = "", False
        target: dict[str, Any] = {}
        if is_right and isinstance(scope, dict):
            project = None if "system" in scope else scope["project"]["id"].removesuffix("-id")
            roles = self._roles[user].get(project)
            is_right = roles is not None
            target = {"system": True} if project is None else {"project": project}
        if not is_right:
            return _reply({"error": {"code": 401, "message": "The request requires authentication."}}, 401)
        token = self.issue(user, *(roles if target else ()), **target, **more)
        return _reply({"token": self._tokens[token]}, 201, token)

    def _scopes(self, token: str, what: str) -> Response:
        if token not in self._tokens:
            return _reply({"error": {"code": 401}}, 401)
        roles = self._roles[self._tokens[token]["user"]["name"]]
        names = [name for name in roles if name is not None]
        projects = [{"id": f"{name}-id", "name": name, "domain_id": "default", "enabled": True} for name in names]
        return _reply({what: projects if what == "projects" else [{"all": True}] if None in roles else []}, 200)

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


def _person_in(body: Any) -> tuple[str, dict[str, Any], Any] | None:
    """The method of a log-in, what it says, and the scope; None if it is the service itself."""
    identity = body["auth"]["identity"]
    (method,) = identity["methods"]
    if method == "password" and identity["password"]["user"].get("name") == "sched":
        return None
    return method, identity[method], body["auth"].get("scope")


def _is_over(said: dict[str, Any]) -> bool:
    return said["expires_at"] <= _time(datetime.now(UTC))


def _time(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _reply(document: dict[str, Any], status: int, token: str | None = None) -> Response:
    headers = {} if token is None else {"X-Subject-Token": token}
    return Response(json.dumps(document), status, headers, mimetype="application/json")
