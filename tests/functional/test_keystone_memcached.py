"""Tokens that several processes remember together, in memcached: a small one of our own."""

import socketserver
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from baremetal_sched.errors import NotAuthenticated
from baremetal_sched.web.authentication import Strategy
from tests.fake_keystone import FakeKeystone, fake_keystone
from tests.functional.test_keystone import request, strategy_for
from tests.processes import free_port


class _Memcached(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        #: Flags and data, by key.
        self.entries: dict[bytes, tuple[bytes, bytes]] = {}


class _Connection(socketserver.StreamRequestHandler):
    server: _Memcached

    def handle(self) -> None:
        while line := self.rfile.readline():
            match line.split():
                case [b"set", key, flags, _, size, *_]:
                    self.server.entries[key] = (flags, self.rfile.read(int(size)))
                    self.rfile.readline()
                    self.wfile.write(b"STORED\r\n")
                case [b"get", key] if key in self.server.entries:
                    flags, data = self.server.entries[key]
                    self.wfile.write(b"VALUE %s %s %d\r\n%s\r\nEND\r\n" % (key, flags, len(data), data))
                case [b"get", _]:
                    self.wfile.write(b"END\r\n")
                case _:
                    self.wfile.write(b"ERROR\r\n")


@contextmanager
def memcached() -> Iterator[_Memcached]:
    """One on a free port, which never forgets."""
    with _Memcached() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def keystone() -> Iterator[FakeKeystone]:
    with fake_keystone() as running:
        yield running


@pytest.fixture
def server() -> Iterator[_Memcached]:
    with memcached() as running:
        yield running


@contextmanager
def remembering(keystone: FakeKeystone, port: int, **options: Any) -> Iterator[Strategy]:
    """The strategy with memcached at that port; its connections are closed in the end."""
    strategy: Any = strategy_for(keystone, memcached_servers=[f"127.0.0.1:{port}"], **options)
    try:
        yield strategy
    finally:
        for entry in strategy._checks._token_cache._cache_pool._pool.queue:
            entry.connection.disconnect_all()


def test_processes_remember_together(keystone: FakeKeystone, server: _Memcached) -> None:
    token = keystone.issue("alice", "member", project="red")
    with (
        remembering(keystone, server.server_address[1]) as first,
        remembering(keystone, server.server_address[1]) as second,
    ):
        caller = first.authenticate(request(token))
        assert second.authenticate(request(token)) == caller
    assert caller.project_id == "red-id"
    assert keystone.asked == [token]
    assert token not in repr(server.entries)
    assert "catalog" not in repr(server.entries)


@pytest.mark.parametrize("strategy", ["MAC", "ENCRYPT"])
def test_what_is_there_is_protected(keystone: FakeKeystone, server: _Memcached, strategy: str) -> None:
    """A forged entry is not believed: the service asks Keystone."""
    token = keystone.issue("alice", "member", project="red")
    secret = {"memcache_security_strategy": strategy, "memcache_secret_key": "planted"}
    with remembering(keystone, server.server_address[1], **secret) as own:
        own.authenticate(request(token))
        own.authenticate(request(token))
        assert keystone.asked == [token]
        ((key, (flags, data)),) = server.entries.items()
        assert (b"alice" in b64decode(data)) == (strategy == "MAC")
        keystone.revoke(token)
        own.authenticate(request(token))
        server.entries[key] = (flags, (b"B" if data.startswith(b"A") else b"A") + data[1:])
        with pytest.raises(NotAuthenticated):
            own.authenticate(request(token))
    assert keystone.asked == [token, token]


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # of the client of memcached
def test_without_memcached_keystone_is_asked(keystone: FakeKeystone) -> None:
    token = keystone.issue("alice", "member", project="red")
    with remembering(keystone, free_port()) as strategy:
        for _ in range(2):
            assert strategy.authenticate(request(token)).user_id == "alice-id"
    assert keystone.asked == [token, token]
