"""A conductor that looks for tests of webhooks, for requests that wait for their results."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.service import Service


@contextmanager
def sending(service: Service) -> Iterator[None]:
    """While a conductor looks for tests."""
    over, deliveries = threading.Event(), next(iter(service.conductors.values())).events.deliveries
    assert deliveries is not None

    def run() -> None:
        while not over.wait(0.01):
            deliveries.begin_tests()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
