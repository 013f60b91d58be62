"""Keys are changed again and again while passwords are: each is what was written last, and none is ever lost.

FAULT_SECONDS says for how long (3): 60 for the real thing.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db import resealing
from baremetal_sched.db.keyring import generate_key
from tests.service import Service

SECONDS = float(os.environ.get("FAULT_SECONDS", "3"))
NODES = 4
#: Longer than a process takes to notice that the file has changed.
STEP = 0.1


def set_password(session: Session, name: str, password: str) -> None:
    nodes.find_for_change(session, name).driver_info = {"ipmi_password": password}


@contextmanager
def writing(service: Service, written: dict[str, str]) -> Iterator[None]:
    """Threads change the passwords of nodes meanwhile, each that of one; ``written`` has the last of each."""
    stop = threading.Event()
    failures: list[BaseException] = []

    def write(name: str) -> None:
        count = 0
        try:
            while not stop.is_set():
                count += 1
                password = f"{name}-secret-{count}"
                service.database.write(partial(set_password, name=name, password=password))
                written[name] = password
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=write, args=(name,)) for name in written]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []


def change(path: Path, *keys: str) -> None:
    """Replace the file, as tools do."""
    new = path.with_suffix(".new")
    new.touch(mode=0o600)
    new.write_text("\n".join(keys))
    new.replace(path)
    time.sleep(STEP)


def test_keys_are_changed_while_passwords_are(database_url: str, tmp_path: Path) -> None:
    path, key = tmp_path / "keys", generate_key()
    change(path, key)
    with Service(database_url, database={"secrets_key_file": str(path)}) as service:
        service.add_conductor("c1")
        written = {f"n{number}": "first-secret-0" for number in range(NODES)}
        for name, password in written.items():
            service.add_node(name, power=False, driver_info={"ipmi_password": password})
        rounds, until = 0, time.monotonic() + SECONDS
        with writing(service, written):
            while rounds == 0 or time.monotonic() < until:
                rounds, newer = rounds + 1, generate_key()
                change(path, key, newer)
                change(path, newer, key)
                outcome = resealing.reseal(service.database, resealing.rotated)
                while outcome.missed:
                    outcome = resealing.reseal(service.database, resealing.rotated)
                assert outcome.failed == 0
                change(path, newer)
                key = newer
        counted = resealing.count(service.database)["nodes.driver_info"]
        assert counted == {resealing.FIRST: NODES}, rounds
        for name, password in written.items():
            found = service.database.read(lambda session, name=name: nodes.find(session, name).driver_info)  # type: ignore[misc]
            assert found == {"ipmi_password": password}
