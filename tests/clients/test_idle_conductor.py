"""The cost of an idle conductor."""

import os
import time
from pathlib import Path

from tests.processes import Values, conductor, run

#: After so many seconds it looks for work less often; then it is measured for as long as this, up to three times.
START, SECONDS = 8, 10


def cpu_seconds(pid: int) -> float:
    """The processor time of the process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_an_idle_conductor_uses_a_hundredth_of_a_core(tmp_path: Path, database_url: str) -> None:
    """Disturbed by what else is on the machine, it may be more for a while."""
    settings: Values = {"database": {"connection": database_url}}
    assert run(tmp_path, "db", "upgrade", settings=settings).returncode == 0
    with conductor(tmp_path, "c1", settings=settings) as running:
        time.sleep(START)
        shares = []
        while not shares or (min(shares) > 0.01 and len(shares) < 3):
            before = cpu_seconds(running.process.pid)
            time.sleep(SECONDS)
            shares.append((cpu_seconds(running.process.pid) - before) / SECONDS)
        assert min(shares) <= 0.01, shares
