"""``baremetal-sched demo``: the main use of the service, end to end, over real HTTP.

``fleet.yaml`` is the sample fleet, ``fleet.py`` computes the expected answers, ``service.py`` starts the service,
``client.py`` talks to it, ``steps.py`` has the steps of the demo, ``show.py`` prints them.
"""

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

import click
from rich.console import Console

from baremetal_sched.cli.demo import client, service
from baremetal_sched.cli.demo.client import Client, DemoFailed
from baremetal_sched.cli.demo.show import Show
from baremetal_sched.cli.demo.steps import Story


@click.command()
@click.option("--keep", is_flag=True, help="Keep the service running afterwards, until Ctrl-C.")
def demo(keep: bool) -> None:
    """Enroll a sample fleet, ask for machines and claim one, with a service of its own.

    The service uses a free port and a temporary database, which is removed afterwards. Exits 1 if any check fails.
    """
    with _ended_by_signals():
        good = _play(Show(Console(highlight=False)), keep)
    if not good:
        raise click.exceptions.Exit(1)


def _play(show: Show, keep: bool) -> bool:
    """Run the demo; return whether all checks passed."""
    machines = client.load()
    show.opening(
        f"A service of its own, on a free port and a temporary database, and a fleet of {len(machines)} machines. "
        "Every step is a real HTTP request; every answer is compared with what the fleet's file says."
    )
    try:
        with service.running() as running:
            started = time.monotonic()
            with show.busy("Starting the service ..."):
                running.start()
            show.started(running.url, time.monotonic() - started)
            good = _tell(show, machines, running.url)
            if not good and (complaints := running.complaints()):
                show.plain(f"\nFrom the logs of the service:\n{complaints}")
            if keep:
                _keep(show, running)
            return good
    except DemoFailed as error:
        return show.closing(str(error))


def _tell(show: Show, machines: Sequence[client.Machine], url: str) -> bool:
    try:
        Story(Client(url), machines, service.CONDUCTORS, show).tell()
    except DemoFailed as error:
        return show.closing(str(error))
    return show.closing()


def _keep(show: Show, running: service.Service) -> None:
    """Print how to reach the service, and wait for Ctrl-C. Raises DemoFailed if the service ends by itself."""
    from baremetal_sched.cli.clients import client_environment

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

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    numbers = [
        number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.Handlers.SIG_DFL
    ]
    for number in numbers:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
