"""Commands to IPMI controllers, by the program ipmitool.

Secrets are never on its command line, where all users of the host can read them, nor in a file that may be left over:
it reads the password from a pipe, or from its environment.
"""

import math
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from baremetal_sched.drivers import progress
from baremetal_sched.drivers.ipmi import process
from baremetal_sched.drivers.ipmi.complaints import Complaint
from baremetal_sched.drivers.ipmi.driver_info import IpmiTarget
from baremetal_sched.drivers.ipmi.turns import Turns
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import MachineUnreachable
from baremetal_sched.machines.machine import Machine

log = structlog.get_logger(__name__)

PROGRAM = "ipmitool"

#: The shortest pause between two attempts, in seconds.
_SHORTEST_PAUSE = 0.5
#: The shortest time that ipmitool gets, in seconds.
_SHORTEST_RUN = 2.0

_turns = Turns()


def validate(machine: Machine) -> IpmiTarget:
    """Return the controller of ``machine``. Raises InvalidValue for errors in ``driver_info``, or if ipmitool is not
    installed."""
    target = IpmiTarget.of(machine)
    _program()
    return target


def soon(machine: Machine) -> float:
    """Return when (monotonic) a request that waits for this call needs its answer; infinity during work."""
    if progress.is_noted():
        return math.inf
    return time.monotonic() + float(machine.settings.conductor.answer_timeout) * 0.8


def run(
    machine: Machine, *command: str, tries_again: bool = True, only_once: bool = False, until: float | None = None
) -> str:
    """Return the output of ipmitool for ``command``.

    Temporary failures are retried for ``[ipmi] command_retry_timeout`` seconds, but not after ``until``, if it
    ``tries_again``; a command that must run ``only_once`` only if it certainly was not carried out.

    Raises InvalidValue as ``validate`` does; MachineUnreachable if the controller does not answer or refuses the login;
    ControllerError if it refuses the command; CallGivenUp.
    """
    target, options = validate(machine), machine.settings.ipmi
    deadline = min(time.monotonic() + options.command_retry_timeout, math.inf if until is None else until)
    tries_again = tries_again and not options.use_ipmitool_retries
    suites = list(options.cipher_suite_versions) if target.chooses_cipher_suite else []
    suite: str | None = None
    while True:
        ended = _run_once(machine, target, command, suite, deadline)
        if ended.status == 0 and not ended.printed_too_much:
            return ended.output
        complaint = Complaint(ended, target, options.additional_retryable_ipmi_errors, suite)
        if complaint.is_about_cipher_suite and suites:
            suite = suites.pop()
            continue
        pause = max(_SHORTEST_PAUSE, options.min_command_interval)
        is_worthwhile = complaint.passes and not (only_once and complaint.was_begun)
        if not (tries_again and is_worthwhile) or time.monotonic() + pause > deadline:
            raise complaint.error
        log.info(
            "a command to a controller is tried again",
            node=machine.uuid,
            command=" ".join(command[:2]),  # what comes then may be anything
            reason=str(complaint.error),
        )
        time.sleep(_SHORTEST_PAUSE)


def _run_once(
    machine: Machine, target: IpmiTarget, command: tuple[str, ...], suite: str | None, deadline: float
) -> process.Ended:
    options = machine.settings.ipmi
    interval, seconds = options.min_command_interval, options.command_retry_timeout
    arguments = [_program(), "-v", *target.options, *_timing(interval, seconds, by_itself=options.use_ipmitool_retries)]
    if suite is not None:
        arguments += ("-C", suite)
    environment: dict[str, str | bytes] = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    if target.kg_key:
        arguments.append("-K")
        environment["IPMI_KGKEY"] = target.kg_key
    try:
        with (
            _turns.turn((target.address, target.port), interval, deadline - time.monotonic()),
            _password(target.password, environment, in_environment=options.store_cred_in_env) as (password, pipes),
        ):
            progress.note()
            left = max(_SHORTEST_RUN, deadline - time.monotonic())
            return process.run([*arguments, *password, *command], left, environment, pipes)
    except TimeoutError:
        reason = "other commands have kept its controller busy for too long"
        raise MachineUnreachable(address=target.address, reason=reason) from None
    except OSError as error:
        raise InvalidValue(message=f"ipmitool cannot be run on the node's conductor: {error.strerror}.") from error


@contextmanager
def _password(
    password: str, environment: dict[str, str | bytes], *, in_environment: bool
) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """Yield the options by which ipmitool gets the password, and the pipes that it needs for that."""
    if in_environment:
        environment["IPMI_PASSWORD"] = password
        yield ["-E"], ()
        return
    with process.readable(password.encode() or b"\0") as pipe:  # it does not take an empty file
        yield ["-f", f"/dev/fd/{pipe}"], (pipe,)


def _timing(interval: int, seconds: int, *, by_itself: bool) -> list[str]:
    """Return the options for ipmitool's own retries: their number and first pause; it adds a second to each pause."""
    interval = max(1, interval)
    times, needed = 1, interval
    while by_itself and needed + interval + times <= seconds:
        needed += interval + times
        times += 1
    return ["-R", str(times), "-N", str(interval)]


def _program() -> str:
    found = shutil.which(PROGRAM)
    if found is None:
        raise InvalidValue(message="ipmitool is not installed on the node's conductor. Install it there.")
    return found
