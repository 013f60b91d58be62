"""``baremetal-sched serve``: the API and a conductor in one process tree, ready within one command."""

import socket
import sys
from typing import Any

import click

from baremetal_sched.cli.options import check_conductor, common_options, make_settings

_FILE = click.Path(exists=True, dir_okay=False)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=6385,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0: any free port.",
)
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Number of processes that serve the API.",
)
@click.option(
    "--threads",
    default=64,
    show_default=True,
    type=click.IntRange(min=1),
    help="Number of threads in each process.",
)
@click.option("--auth-strategy", help="Authentication strategy.")
@click.option("--insecure", is_flag=True, help="Allow serving without authentication on any address.")
@click.option(
    "--tls-cert",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Serve HTTPS with this certificate (PEM file).",
)
@click.option(
    "--tls-key",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Private key of the certificate (PEM file).",
)
@click.option("--group", help="Conductor group of the embedded conductor. Default: the default group.")
@click.option("--without-conductor", is_flag=True, help="Serve only the API; conductors run elsewhere.")
@common_options
def serve(
    host: str,
    port: int,
    workers: int,
    threads: int,
    auth_strategy: str | None,
    insecure: bool,
    tls_cert: str | None,
    tls_key: str | None,
    group: str | None,
    without_conductor: bool,
    config_files: tuple[str, ...],
    database: str | None,
    debug: bool,
) -> None:
    """Create or upgrade the database, then serve the API, with an embedded conductor.

    On an address that is not loopback, callers must log in. By default, a file of users with one administrator is
    created, and the password is printed.
    """
    if sys.stderr.isatty():
        click.echo("baremetal-sched is starting. Ctrl-C stops it.", err=True)
    with _listen(host, port) as listener:
        from baremetal_sched.cli import embedded  # takes seconds, so the checks above come first

        check_conductor(None, group)
        overrides: dict[str, dict[str, Any]] = {
            "api": {"auth_strategy": auth_strategy, "insecure": insecure or None},
            "conductor": {"conductor_group": group},
        }
        settings = make_settings(config_files, database, debug, overrides)
        where = embedded.Listening(listener, host, workers, threads, tls_cert, tls_key)
        embedded.run(settings, where, with_conductor=not without_conductor)


def _listen(host: str, port: int) -> socket.socket:
    """Open the listening socket. This comes before everything else, so that a port in use is reported at once.

    Raises ClickException.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise click.ClickException(f"Cannot listen on {host}:{port}: {error.strerror}.") from None
    listener.listen(512)
    listener.set_inheritable(True)
    return listener
