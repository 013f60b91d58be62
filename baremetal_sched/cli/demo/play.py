"""The demo from start to end: the service, the steps, and what remains with ``--keep``."""

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from rich.console import Console

from baremetal_sched import commands
from baremetal_sched.cli.clients import client_environment
from baremetal_sched.cli.demo import client, service
from baremetal_sched.cli.demo.client import DemoClient, DemoFailed
from baremetal_sched.cli.demo.show import Show
from baremetal_sched.cli.demo.steps import Story

#: What to do after the demo.
_NEXT = f"""
What to do next:
  baremetal-sched demo --keep   The same, and the service keeps running: see the fleet in a browser, try commands.
  {commands.SERVE:<29} A service of your own. It prints the address of its pages, and what the openstack
                                command needs. "Five minutes" in README.md continues from there."""


def play(port: int, *, keep: bool) -> bool:
    """Run the demo; return whether all checks passed. Signals end it like Ctrl-C."""
    with _ended_by_signals():
        return _play(Show(Console(highlight=False)), port, keep)


def _play(show: Show, port: int, keep: bool) -> bool:
    machines = client.load()
    listening = f"on port {port}" if port else "on a free port"
    show.opening(
        f"A service of its own, {listening} and a temporary database, and a fleet of {len(machines)} machines. "
        "Every step is a real HTTP request; every answer is compared with what the fleet's file says."
    )
    try:
        with service.running(port, show.plain) as running:
            started = time.monotonic()
            with show.busy("Starting the service ..."):
                running.start()
            show.started(running.url, time.monotonic() - started)
            good = _tell(show, machines, running.url)
            if not good and (complaints := running.complaints()):
                show.plain(f"\nFrom the logs of the service:\n{complaints}")
            if keep:
                _keep(show, running)
            elif good:
                show.plain(_NEXT)
            return good
    except DemoFailed as error:
        return show.closing(str(error))


def _tell(show: Show, machines: Sequence[client.DemoMachine], url: str) -> bool:
    try:
        Story(DemoClient(url), machines, service.CONDUCTORS, show).tell()
    except DemoFailed as error:
        return show.closing(str(error))
    return show.closing()


def _keep(show: Show, running: service.Service) -> None:
    """Print how to reach the service, and wait for Ctrl-C. Raises DemoFailed if the service ends by itself."""
    show.plain(
        f"\nThe service keeps running at {running.url} until Ctrl-C; its logs are in {running.folder}.\n"
        f"Look at its fleet in a browser: {running.url}/ui/\n\n"
        f"{client_environment(running.url)}\n"
    )
    with suppress(KeyboardInterrupt):
        while True:
            running.require_alive()
            time.sleep(0.5)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that nothing is left behind."""
    before = {
        number: signal.signal(number, signal.default_int_handler)
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is signal.Handlers.SIG_DFL
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
