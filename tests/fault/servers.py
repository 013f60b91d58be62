"""Database servers of a test's own: to be killed in the middle of things, and started again on what they left.

As root they run as the users that Debian's packages make, for they refuse to be root. Nothing that they confirmed may
be lost, so they wait for the disk as in production.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from tests.processes import free_port
from tests.waiting import START, wait_until

_DATABASE = "fault"


class Server:
    """A server that was never started, with its data in ``folder``. ``url`` is that of an empty database in it."""

    url: str
    #: The user that Debian's package makes for it.
    user: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.log = (folder / "log").open("a")

    @staticmethod
    def is_installed() -> bool:
        """Are its programs here?"""
        raise NotImplementedError

    def initialize(self) -> None:
        """Make its files."""
        raise NotImplementedError

    def start(self) -> None:
        """Start it, and wait until it answers. What it had confirmed when it was killed is there."""
        raise NotImplementedError

    def crash(self) -> None:
        """Let it die, without a chance to close anything."""
        raise NotImplementedError

    def run(self, *command: str) -> None:
        """Run one of its programs."""
        subprocess.run(command, check=True, timeout=START, **self.as_user())

    def as_user(self) -> dict[str, Any]:
        """How its programs are run: as its user, in its folder, with what they print in a file there."""
        options: dict[str, Any] = {
            "cwd": self.folder,
            "stdin": subprocess.DEVNULL,
            "stdout": self.log,
            "stderr": self.log,
        }
        if os.geteuid() == 0:
            options |= {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []}
        return options

    @property
    def account(self) -> pwd.struct_passwd:
        """Whom it runs as, if this is root: its own user, or nobody if there is none."""
        try:
            return pwd.getpwnam(self.user)
        except KeyError:
            return pwd.getpwnam("nobody")


class PostgreSQL(Server):
    """A PostgreSQL; it crashes by a stop in immediate mode."""

    user = "postgres"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.url = f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{_DATABASE}"

    @staticmethod
    def _programs() -> Path | None:
        found = shutil.which("initdb")
        places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda place: place.parent.name.zfill(9))
        places += [Path(found).parent] if found else []
        return next((place for place in reversed(places) if (place / "pg_ctl").exists()), None)

    @staticmethod
    def is_installed() -> bool:
        return PostgreSQL._programs() is not None

    def initialize(self) -> None:
        options = ("-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale", "--no-sync")
        self.run(f"{self._programs()}/initdb", "-D", "db", *options)

    def start(self) -> None:
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": 300,
            "fsync": "on",
        }
        options = " ".join(f"-c {name}='{value}'" for name, value in settings.items())
        self._control("-w", "-t", str(START), "-o", options, "start")

    def crash(self) -> None:
        self._control("-m", "immediate", "stop")

    def _control(self, *arguments: str) -> None:
        self.run(f"{self._programs()}/pg_ctl", "-D", "db", "-l", "server.log", *arguments)


class MariaDB(Server):
    """A MariaDB; it crashes by SIGKILL."""

    user = "mysql"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.url = f"mariadb+pymysql://root@127.0.0.1:{self.port}/{_DATABASE}"
        self.process: subprocess.Popen[bytes] | None = None

    @staticmethod
    def _program(name: str) -> str | None:
        return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")

    @staticmethod
    def is_installed() -> bool:
        return bool(MariaDB._program("mariadbd") and MariaDB._program("mariadb-install-db"))

    def initialize(self) -> None:
        options = ("--skip-test-db", "--skip-name-resolve", "--auth-root-authentication-method=normal")
        program = self._program("mariadb-install-db")
        assert program
        self.run(program, "--no-defaults", f"--datadir={self.folder}/db", *options)

    def start(self) -> None:
        self._launch()
        wait_until(self._answers, "MariaDB to answer", seconds=START)

    def _options(self) -> dict[str, object]:
        return {
            "datadir": f"{self.folder}/db",
            "port": self.port,
            "bind-address": "127.0.0.1",
            "socket": f"{self.folder}/socket",
            "pid-file": f"{self.folder}/pid",
            "max-connections": 300,
            "innodb-flush-log-at-trx-commit": 1,
        }

    def _launch(self, *more: str) -> None:
        program = self._program("mariadbd")
        assert program
        options = [f"--{name}={value}" for name, value in self._options().items()]
        command = [program, "--no-defaults", "--skip-name-resolve", *options, *more]
        self.process = subprocess.Popen(command, start_new_session=True, **self.as_user())

    def crash(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait(START)

    def _answers(self) -> bool:
        assert self.process
        assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
        with suppress(DBAPIError):
            execute(self.url.removesuffix(_DATABASE), "SELECT 1")
            return True
        return False


SERVERS: dict[str, type[Server]] = {"postgresql": PostgreSQL, "mariadb": MariaDB}


@contextmanager
def server(kind: str) -> Iterator[Server]:
    """A server of the kind, started, with an empty database; it is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="baremetal-sched-"))  # its user must get there, unlike to pytest's folders
    made = SERVERS[kind](folder)
    if os.geteuid() == 0:
        shutil.chown(folder, made.account.pw_uid)
    try:
        made.initialize()
        made.start()
        try:
            parent = {"postgresql": "postgres", "mariadb": ""}[kind]
            execute(made.url.removesuffix(_DATABASE) + parent, f"CREATE DATABASE {_DATABASE}")
            yield made
        finally:
            with suppress(subprocess.CalledProcessError):  # it may be down already
                made.crash()
    finally:
        made.log.close()
        shutil.rmtree(folder)


def execute(url: str, statement: str) -> None:
    """Execute a statement outside transactions."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT", connect_args={"connect_timeout": 5})
    try:
        with engine.connect() as connection:
            connection.execute(text(statement))
    finally:
        engine.dispose()
