"""Connections to Redfish controllers: logged in once, kept, and dropped when something goes wrong."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

import sushy
from sushy import auth
from sushy.resources.system.system import System

from baremetal_sched.baremetal.machine import Machine
from baremetal_sched.drivers.redfish import failures
from baremetal_sched.drivers.redfish.driver_info import Target
from baremetal_sched.errors import SchedulerError

# Its lines repeat what controllers answer; what is worth knowing of that is in the errors that we raise.
logging.getLogger("sushy").setLevel(logging.CRITICAL + 1)

_LOGINS = {"auto": auth.SessionOrBasicAuth, "basic": auth.BasicAuth, "session": auth.SessionAuth}

_lock = threading.Lock()
_kept: dict[tuple[object, ...], sushy.Sushy] = {}


@contextmanager
def system(machine: Machine) -> Iterator[System]:
    """The machine's ComputerSystem, of a connection that is kept.

    Whatever goes wrong with the controller within becomes MachineUnreachable (it cannot be reached, hangs, fails or
    refuses the credentials or certificates) or ControllerError (it refuses something, or makes no sense), and the
    connection is dropped. Raises InvalidValue if ``driver_info`` is wrong.
    """
    target = Target.of(machine)
    try:
        yield _service(machine, target).get_system(target.system_id)
    except SchedulerError:
        raise
    except Exception as error:  # a controller may answer anything
        with _lock:
            _kept.pop(_key(target), None)
        raise failures.translated(error, target) from error


def _key(target: Target) -> tuple[object, ...]:
    digest = sha256((target.password or "").encode()).hexdigest()
    return target.address, target.root, target.username, digest, target.verify_ca, target.auth_type


def _service(machine: Machine, target: Target) -> sushy.Sushy:
    with _lock:
        found = _kept.get(_key(target))
    if found is None:
        options = machine.settings.redfish
        found = sushy.Sushy(
            target.address,
            root_prefix=target.root,
            verify=target.verify_ca,
            auth=_LOGINS[target.auth_type](target.username, target.password),
            server_side_retries=1,
            server_side_retries_delay=0,
            read_timeout=options.read_timeout,
            connect_timeout=options.connect_timeout,
        )
        with _lock:
            _kept[_key(target)] = found
    return found
