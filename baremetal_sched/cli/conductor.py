"""``baremetal-sched conductor``: run a conductor."""

import click

from baremetal_sched.cli.options import check_conductor, common_options, make_settings


@click.command()
@click.option("--host", help="Host name of the conductor. Default: the name of this machine.")
@click.option("--group", help="Conductor group to serve. Default: the default group.")
@common_options
def conductor(
    host: str | None, group: str | None, config_files: tuple[str, ...], database: str | None, debug: bool
) -> None:
    """Run a conductor, which manages the nodes of one conductor group, until it is stopped."""
    from baremetal_sched import logs
    from baremetal_sched.conductor import process
    from baremetal_sched.scheduling.api import webhook_makers

    check_conductor(host, group)
    overrides = {"DEFAULT": {"host": host}, "conductor": {"conductor_group": group}}
    settings = make_settings(config_files, database, debug, overrides)
    logs.log_settings(settings)
    process.run(settings, rights=webhook_makers.rights(settings))
