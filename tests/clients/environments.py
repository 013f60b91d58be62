"""Things that take long to make are made once, and kept in pytest's cache: above all, virtual environments for packages
that conflict with ours."""

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SECONDS = 600


def made_once(config: pytest.Config, name: str, wanted: str, make: Callable[[Path], None]) -> Path:
    """The folder ``name`` of pytest's cache, which ``make`` fills if it is not there as it is ``wanted``."""
    assert config.cache
    folder = config.cache.mkdir(name)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other processes of this run, and other runs
        complete = folder / "complete"
        if not complete.exists() or complete.read_text() != wanted:
            shutil.rmtree(folder)
            folder.mkdir()
            make(folder)
            complete.write_text(wanted)
    return folder


def python_with(config: pytest.Config, name: str, *requirements: str) -> Path:
    """A Python that has ``requirements``: installed once, and kept in pytest's cache under ``name``."""

    def install(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run(
            [folder / "bin/python", "-m", "pip", "install", "--quiet", *requirements], check=True, timeout=SECONDS
        )

    return made_once(config, name, " ".join((sys.version, *requirements)), install) / "bin/python"
