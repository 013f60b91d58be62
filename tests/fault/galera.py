"""A Galera cluster of a test's own: MariaDB servers on loopback, one of which may be killed or suspended at a time."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from tests.fault.servers import MariaDB, execute
from tests.processes import free_port
from tests.waiting import START, wait_until

_LIBRARIES = ("/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera/libgalera_smm.so")
_NODES = 3
#: What it may take a node to join: all data are copied to it.
_DATABASE = "fault"


def missing() -> str:
    """The missing programs, or nothing."""
    lacks = [
        name for name, found in (("MariaDB", MariaDB.is_installed()), ("rsync", shutil.which("rsync"))) if not found
    ]
    return ", ".join(lacks if _library() else [*lacks, "Galera's library"])


def _library() -> str | None:
    return next((path for path in _LIBRARIES if Path(path).exists()), None)


class Node(MariaDB):
    """A server of the cluster. ``state`` is what it says of itself: "Synced" if it serves, "" if it does not answer."""

    def __init__(self, folder: Path, number: int) -> None:
        folder.mkdir()
        super().__init__(folder)
        self.number = number
        self.group_port = free_port()
        self._copy_port, self._catch_up_port = free_port(), free_port()
        self.peers: list[Node] = []

    def initialize(self) -> None:
        """Make its files. What joins gets them from a server that is there."""
        if self.number == 0:
            super().initialize()
        else:
            (self.folder / "db").mkdir()
            self._give(self.folder / "db")

    def _give(self, path: Path) -> None:
        if os.geteuid() == 0:
            shutil.chown(path, self.account.pw_uid)

    def found(self) -> None:
        """Start it as the first of a new cluster."""
        self._launch("--wsrep-new-cluster")
        self.wait()

    def start(self) -> None:
        """Start it as one more of the cluster that is there, and wait until it has what the others have."""
        self._launch()
        self.wait()

    def suspend(self) -> None:
        """SIGSTOP"""
        assert self.process
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT, and wait until it has what the others have."""
        assert self.process
        self.process.send_signal(signal.SIGCONT)
        self.wait()

    def wait(self) -> None:
        """Wait until it serves, together with the other running servers."""
        wait_until(self._is_member, f"node {self.number} to be synced", seconds=START)

    def _is_member(self) -> bool:
        # Who was suspended does not know at once that the others have gone on alone.
        sizes = {node.status("wsrep_cluster_size") for node in self.peers if node.process is not None}
        return self.state == "Synced" and len(sizes) == 1 and "" not in sizes

    @property
    def state(self) -> str:
        assert self.process
        assert self.process.poll() is None, (self.folder / "log").read_text()[-3000:]
        return self.status("wsrep_local_state_comment") if self.status("wsrep_ready") == "ON" else ""

    def status(self, name: str) -> str:
        """A status variable of the server, "" if it does not answer."""
        engine = create_engine(
            self.url.removesuffix(_DATABASE), connect_args={"connect_timeout": 2, "read_timeout": 2, "write_timeout": 2}
        )
        with suppress(DBAPIError), engine.connect() as connection:
            return str(connection.execute(text(f"SHOW STATUS LIKE '{name}'")).one()[1])
        engine.dispose()
        return ""

    def _options(self) -> dict[str, object]:
        everybody = ",".join(f"127.0.0.1:{node.group_port}" for node in self.peers)
        provider = {
            "gmcast.listen_addr": f"tcp://127.0.0.1:{self.group_port}",
            "ist.recv_addr": f"127.0.0.1:{self._catch_up_port}",
            # A server that is silent is excluded sooner than usual (5 and 15 seconds).
            "evs.suspect_timeout": "PT3S",
            "evs.inactive_timeout": "PT6S",
        }
        return super()._options() | {
            "binlog-format": "ROW",
            "innodb-autoinc-lock-mode": 2,
            "innodb-log-file-size": "16M",
            "wsrep-on": "ON",
            "wsrep-provider": _library(),
            "wsrep-cluster-address": f"gcomm://{everybody}",
            "wsrep-cluster-name": "fault",
            "wsrep-node-name": f"node{self.number}",
            "wsrep-node-address": f"127.0.0.1:{self.group_port}",
            "wsrep-sst-method": "rsync",
            "wsrep-sst-receive-address": f"127.0.0.1:{self._copy_port}",
            "wsrep-provider-options": ";".join(f"{name}={value}" for name, value in provider.items()),
        }


@contextmanager
def cluster() -> Iterator[list[Node]]:
    """A cluster of three, with an empty database; it is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="baremetal-sched-galera-"))
    folder.chmod(0o755)
    nodes = [Node(folder / f"node{number}", number) for number in range(_NODES)]
    try:
        for node in nodes:
            node.peers = nodes
            node._give(node.folder)
            node.initialize()
        nodes[0].found()
        for node in nodes[1:]:
            node.start()
        execute(nodes[0].url.removesuffix(_DATABASE), f"CREATE DATABASE {_DATABASE} CHARACTER SET utf8mb4")
        yield nodes
    finally:
        for node in nodes:
            if node.process is not None:
                with suppress(ProcessLookupError):
                    os.killpg(node.process.pid, signal.SIGKILL)
                node.process.wait(30)
            node.log.close()
        shutil.rmtree(folder)
