"""The files of a SQLite database may be read by their owner only."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from baremetal_sched.db import schema, sqlite_file
from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import load


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def made(path: Path) -> Database:
    """A database with the schema, and with a connection that is open."""
    database = Database(load(overrides={"database": {"connection": f"sqlite:///{path}"}}))
    schema.upgrade(database.engine)
    return database


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("linked", [False, True])
def test_new_files_are_private(tmp_path: Path, linked: bool) -> None:
    path = tmp_path / "a.sqlite"
    if linked:
        (tmp_path / "link").symlink_to(path)
    database = made(tmp_path / "link" if linked else path)
    with database.engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE t (a INT)")
        connection.commit()
        files = {file.name: mode(file) for file in tmp_path.iterdir() if not file.is_symlink()}
    database.dispose()
    assert files == dict.fromkeys(("a.sqlite", "a.sqlite-wal", "a.sqlite-shm"), 0o600)


def test_a_file_that_others_may_read_is_left_and_warned_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.sqlite"
    made(path).dispose()
    path.chmod(0o644)
    log = Mock()
    monkeypatch.setattr(sqlite_file, "log", log)
    made(path).dispose()
    made(path).dispose()
    ((warning, facts),) = ((call.args[0], call.kwargs) for call in log.warning.call_args_list)
    assert "chmod 600" in warning
    assert facts == {"file": str(path), "mode": "0644"}
    assert mode(path) == 0o644


def test_a_folder_that_is_missing_is_said_by_sqlite(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"unable to open|cannot be"):
        made(tmp_path / "nosuch" / "a.sqlite")
