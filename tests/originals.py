"""Where what the service follows is installed, if it is."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conformance import policies
from tests.waiting import PATIENCE

#: What the benchmarks install stays here.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "baremetal-sched" / "benchmarks"


def ironic_python() -> str | None:
    """A Python that has Ironic: the one that ``IRONIC_PYTHON`` names, or that of the benchmarks, if there is one."""
    given = os.environ.get("IRONIC_PYTHON")
    cached = CACHE / "baremetal" / "bin" / "python"
    return given or (str(cached) if cached.exists() else None)


@contextmanager
def served_ironic(python: str, settings: Path) -> Iterator[str]:
    """Run an Ironic with these settings over a new database, and yield its URL."""
    dbsync = Path(python).with_name("ironic-dbsync")
    subprocess.run([dbsync, "--config-file", settings, "create_schema"], check=True, capture_output=True)
    command = [python, Path(policies.__file__).with_name("ironic_served.py"), settings]
    log = settings.with_name("served.log")
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            assert process.stdout
            said = process.stdout.readline()
            assert said.startswith("ready "), log.read_text()[-3000:]
            yield f"http://127.0.0.1:{said.split()[1]}"
        finally:
            process.kill()
            process.wait(PATIENCE)
