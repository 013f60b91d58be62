"""Connections to Redfish controllers: logged in once, kept, and dropped when something goes wrong."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, NoReturn

import structlog
import sushy
from sushy.connector import Connector
from sushy.exceptions import ConnectionError as NoConnection
from sushy.resources.system.system import System

from baremetal_sched.drivers.redfish import failures
from baremetal_sched.drivers.redfish.driver_info import RedfishTarget
from baremetal_sched.drivers.redfish.login import Login
from baremetal_sched.drivers.redfish.transport import Nonsense, Transport, limited
from baremetal_sched.errors import SchedulerError
from baremetal_sched.machines.machine import Machine
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

# Its lines repeat answers of controllers; the errors that are raised here repeat the relevant part.
logging.getLogger("sushy").setLevel(logging.CRITICAL + 1)

#: Sessions that are closed at the same time when a conductor stops.
_CLOSED_AT_ONCE = 32


@contextmanager
def system(machine: Machine) -> Iterator[System]:
    """The machine's ComputerSystem as it is now, over a connection that is kept. A body should be short.

    Whatever goes wrong with the controller within becomes MachineUnreachable (it cannot be reached, hangs, fails or
    refuses the credentials or certificates) or ControllerError (it refuses something, or makes no sense). After one of
    these errors the next call logs in again, unless the controller just refused the request. All requests within
    together have ``[conductor] driver_call_timeout``. Raises InvalidValue if ``driver_info`` is wrong.
    """
    target = RedfishTarget.of(machine)
    connection: _Connection | None = None
    drop = False
    with limited(machine.settings.conductor.driver_call_timeout):
        try:
            connection, reached = _reach(target, machine.settings)
            yield reached
        except SchedulerError:
            raise
        except Exception as error:  # a controller may answer anything, and sushy may stumble over it
            drop = not failures.is_refusal(error)
            if failures.is_unexpected(error):
                log.warning("a controller is not understood", address=target.address, where=_where(error))
            raise failures.translated(error, target) from None
        finally:
            if connection is not None:
                _KEPT.release(connection, drop=drop)


def close_all(seconds: float) -> None:
    """End all sessions, within ``seconds``."""
    _KEPT.close_all(seconds)


def _where(error: BaseException) -> str:
    """Return the line that raised the error. The error's text may repeat the controller's answer."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}" if trace else "?"
    return f"{type(error).__name__} in {place}"


class _NoInternet:
    """Keeps sushy from the Internet, where it fetches texts of messages if a controller tells it to."""

    def get(self, *args: Any, **named: Any) -> NoReturn:
        raise Nonsense("refers to the Internet, which is not asked.")


class _Connector(Connector):  # type: ignore[misc]
    """sushy's, but reads are repeated by the transport only."""

    def _op(self, method: str, *args: Any, **named: Any) -> Any:
        if method.upper() == "GET":
            named["server_side_retries_left"] = 0
        return super()._op(method, *args, **named)


class _Connection:
    """A connection that is logged in; ``users`` are using it now."""

    def __init__(self, target: RedfishTarget, settings: Settings) -> None:
        options = settings.redfish
        self.key = _key(target)
        self.users = 0
        self.is_dropped = False
        self._login = Login(target)
        self._transport = Transport(target.address, self._login)
        connector = _Connector(
            target.address,
            verify=target.verify_ca,
            server_side_retries=1,  # 0 means 3
            server_side_retries_delay=0,
            default_request_timeout=options.read_timeout,
            connect_timeout=options.connect_timeout,
        )
        connector._session.close()
        connector._session = self._transport
        self.service = sushy.Sushy(
            target.address,
            root_prefix=target.root,
            auth=self._login,
            connector=connector,
            public_connector=_NoInternet(),
        )

    def close(self) -> None:
        """Log out."""
        self._login.log_out(self._transport)
        self._transport.close()


def _key(target: RedfishTarget) -> Hashable:
    digest = sha256((target.password or "").encode()).digest()
    return target.address, target.root, target.username, digest, target.verify_ca, target.auth_type


class _Kept:
    """Connections that are kept, the most recently used at the end. A call that needs a connection which is
    being made waits for it, and fails with it: controllers allow few sessions, and one that hangs should cost
    its time only once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_key: OrderedDict[Hashable, Future[_Connection]] = OrderedDict()

    def take(self, target: RedfishTarget, settings: Settings) -> _Connection:
        """Return a connection to ``target``, to be released.

        Raises what connecting raises, and TimeoutError if connecting takes longer than a call may.
        """
        connection = None
        while connection is None:
            connection = self._use(self._find(target, settings), settings.conductor.driver_call_timeout)
        self._shrink(settings.redfish.connection_cache_size)
        return connection

    def _find(self, target: RedfishTarget, settings: Settings) -> "Future[_Connection]":
        key = _key(target)
        with self._lock:
            found = self._by_key.get(key)
            future = self._by_key[key] = found or Future()
            self._by_key.move_to_end(key)
        if found is None:
            self._make(future, target, settings)
        return future

    def _use(self, future: "Future[_Connection]", seconds: float) -> _Connection | None:
        """Return the connection; None if it has been dropped."""
        connection = future.result(seconds)
        with self._lock:
            if connection.is_dropped:
                return None
            connection.users += 1
        return connection

    def release(self, connection: _Connection, *, drop: bool) -> None:
        """Release ``connection``; ``drop``: it must not be used again."""
        with self._lock:
            connection.users -= 1
            if drop:
                self._drop(connection)
            is_over = connection.is_dropped and not connection.users
        if is_over:
            connection.close()

    def close_all(self, seconds: float) -> None:
        """Close all connections that are not in use, within ``seconds``."""
        until = time.monotonic() + seconds
        with self._lock:
            connections = [each.result() for each in self._by_key.values() if each.done() and not each.exception()]
            for connection in connections:
                self._drop(connection)
        left = [connection for connection in connections if not connection.users]

        def close_some() -> None:
            while left and time.monotonic() < until:
                try:
                    left.pop().close()
                except IndexError:
                    return

        threads = [
            threading.Thread(target=close_some, name="redfish-logout", daemon=True)
            for _ in range(min(_CLOSED_AT_ONCE, len(left)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _make(self, future: Future[_Connection], target: RedfishTarget, settings: Settings) -> None:
        try:
            future.set_result(_Connection(target, settings))
        except BaseException as error:
            with self._lock:
                if self._by_key.get(_key(target)) is future:
                    del self._by_key[_key(target)]
            future.set_exception(error)

    def _shrink(self, most: int) -> None:
        """Drop the least recently used connections beyond the limit."""
        unused = []
        with self._lock:
            for future in list(self._by_key.values())[: max(0, len(self._by_key) - most)]:
                if future.done() and not future.exception():
                    self._drop(future.result())
                    if not future.result().users:
                        unused.append(future.result())
        for connection in unused:
            connection.close()

    def _drop(self, connection: _Connection) -> None:
        connection.is_dropped = True
        future = self._by_key.get(connection.key)
        if future is not None and future.done() and not future.exception() and future.result() is connection:
            del self._by_key[connection.key]


_KEPT = _Kept()


def _reach(target: RedfishTarget, settings: Settings) -> tuple[_Connection, System]:
    """Return a connection, to be released, and the machine. Refused connections are retried."""
    attempts = settings.redfish.connection_attempts
    while True:
        attempts -= 1
        connection: _Connection | None = None
        try:
            connection = _KEPT.take(target, settings)
            return connection, connection.service.get_system(target.system_id)
        except BaseException as error:
            if connection is not None:
                _KEPT.release(connection, drop=not failures.is_refusal(error))
            if not attempts or not isinstance(error, NoConnection) or not failures.may_pass(error):
                raise
        time.sleep(settings.redfish.connection_retry_interval)
