"""A network that swallows everything: TCP gives up, and not only the deadline of a request."""

import os
import socket

import pytest

from baremetal_sched.db import deadline, limits
from baremetal_sched.db.engine import make_engine
from baremetal_sched.db.limits import Limits
from baremetal_sched.settings import load


@pytest.mark.parametrize(
    ("given", "milliseconds"),
    [
        (limits.NONE, 10_000),
        (limits.CONDUCTOR, 10_000),
        (Limits(transaction=45), 10_000),
        (Limits(transaction=3), 3_000),
    ],
)
def test_what_is_not_acknowledged_is_noticed_in_ten_seconds(
    database_url: str, given: Limits, milliseconds: int
) -> None:
    if database_url.startswith("sqlite"):
        pytest.skip("SQLite has no network")
    engine = make_engine(load(overrides={"database": {"connection": database_url}}), limits=given)
    try:
        with engine.connect() as connection:
            driver = connection.connection.dbapi_connection
            with socket.socket(fileno=os.dup(deadline.descriptor(driver))) as shared:
                assert shared.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == milliseconds
    finally:
        engine.dispose()
