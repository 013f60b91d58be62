"""A conductor that looks for tests of webhooks, for requests that wait for their results."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from tests.service import Service

TASK = next(task for task in PERIODIC_TASKS if task.name == "webhook tests")


@contextmanager
def sending(service: Service) -> Iterator[None]:
    """While a conductor looks for tests."""
    over, conductor = threading.Event(), next(iter(service.conductors.values()))

    def run() -> None:
        while not over.wait(0.01):
            conductor.run_periodic_task(TASK)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
