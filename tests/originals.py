"""Where what the service follows is installed, if it is."""

import os
from pathlib import Path

#: What the benchmarks install stays here.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "baremetal-sched" / "benchmarks"


def ironic_python() -> str | None:
    """A Python that has Ironic: the one that ``IRONIC_PYTHON`` names, or that of the benchmarks, if there is one."""
    given = os.environ.get("IRONIC_PYTHON")
    cached = CACHE / "baremetal" / "bin" / "python"
    return given or (str(cached) if cached.exists() else None)
