"""``baremetal-sched demo``: the main use of the service, end to end, over real HTTP.

``fleet.yaml`` is the sample fleet, ``client.py`` talks to the service and computes the expected answers, ``service.py``
starts it, ``steps.py`` and ``scheduling.py`` have the steps of the demo, which share ``asking.py``; ``show.py`` prints
them, ``play.py`` runs them all.
"""

import click


@click.command()
@click.option("--keep", is_flag=True, help="Keep the service running afterwards, until Ctrl-C.")
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Port of the service. Default: any free port.")
def demo(keep: bool, port: int) -> None:
    """Enroll a sample fleet, ask for machines, claim, explain, hold, wait, end and spread, with a service of its own.

    The service uses a temporary database, which is removed afterwards. Exits 1 if any check fails.
    """
    from baremetal_sched.cli.demo.play import play

    if not play(port, keep=keep):
        raise click.exceptions.Exit(1)
