"""``baremetal-sched conductor``"""

import os
import signal
import threading

import click

from baremetal_sched.cli.options import common_options, make_settings
from baremetal_sched.conductor.daemon import Conductor
from baremetal_sched.db import schema
from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import Settings


@click.command()
@click.option("--host", help="Name under which the conductor registers. Default: the name of this machine.")
@click.option("--group", help="Conductor group that it serves. Default: the default group.")
@common_options
def conductor(
    host: str | None, group: str | None, config_files: tuple[str, ...], database: str | None, debug: bool
) -> None:
    """Take care of the nodes of one conductor group, until told to stop."""
    overrides = {"DEFAULT": {"host": host}, "conductor": {"conductor_group": group}}
    run(make_settings(config_files, database, debug, overrides))


def run(settings: Settings, parent: int | None = None) -> None:
    """Be a conductor until SIGTERM or SIGINT; or, with ``parent``, until that process is gone."""
    database = Database(settings)
    schema.require_current(database.engine)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    if parent is not None:
        threading.Thread(target=_watch, args=(parent, stop), daemon=True).start()
    Conductor(database, settings).run(stop)
    database.dispose()


def _watch(parent: int, stop: threading.Event) -> None:
    while os.getppid() == parent:
        if stop.wait(0.5):
            return
    stop.set()
