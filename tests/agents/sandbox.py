"""Disks and the sandbox: loop devices are made outside, and everything else is in namespaces of its own."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.agents import disk_nodes, inside, isolation

ROOT = Path(__file__).parents[2]
#: Sparse; an agent takes no disk that is smaller than 4 GiB for that of its machine.
DISK_BYTES = 5 * 2**30
_SECONDS = 600
#: What an agent may run.
_ALLOWED = (
    *("sgdisk", "parted", "lsblk", "blkid", "blockdev", "wipefs", "dd", "hexdump", "qemu-img", "fuser", "findfs"),
    *("mkfs", "mkfs.ext4", "mkswap", "test", "sync"),
)
_NEEDED = (*_ALLOWED, "partprobe", "partx", "losetup", "unshare", "setpriv", "mount", "ip")
_WITHOUT = "-sys_boot,-sys_time,-sys_module,-sys_rawio"
_POWEROFF = """import json, os, urllib.request
asked = urllib.request.Request(os.environ["MACHINE_RESET"], json.dumps({"ResetType": "ForceOff"}).encode(),
                               {"Content-Type": "application/json"})
urllib.request.urlopen(asked, timeout=30)
"""


def require() -> None:
    """Skip the test unless this machine can have a sandbox."""
    if os.getuid() != 0:
        pytest.skip("only root can make loop devices and a sandbox for agents")
    missing = [name for name in _NEEDED if shutil.which(name) is None]
    if missing:
        pytest.skip(f"programs are missing: {', '.join(missing)} (apt install gdisk parted qemu-utils)")


@contextmanager
def disks(folder: Path, count: int) -> Iterator[dict[str, list[int]]]:
    """Yield loop devices with their numbers, each over a sparse file in ``folder``."""
    with ExitStack() as stack:
        made: dict[str, list[int]] = {}
        for number in range(count):
            image = folder / f"disk{number}.img"
            with image.open("wb") as file:
                file.truncate(DISK_BYTES)
            attached = subprocess.run(["losetup", "-f", "--show", image], capture_output=True, text=True)
            if attached.returncode:
                pytest.skip(f"there are no loop devices here: {attached.stderr.strip()}")
            device = attached.stdout.strip()
            stack.callback(subprocess.run, ["losetup", "-d", device])
            stack.callback(subprocess.run, ["partx", "--delete", device], capture_output=True)
            rdev = Path(device).stat().st_rdev
            made[device] = [os.major(rdev), os.minor(rdev)]
        yield made


def _programs(folder: Path) -> Path:
    """Make the folder that is the agents' PATH: nothing else can be run by name."""
    folder.mkdir()
    for name in _ALLOWED:
        (folder / name).symlink_to(str(shutil.which(name)))
    python = f"{sys.executable} -I -S"
    refresh = f"{python} {shlex.quote(disk_nodes.__file__)}"
    partprobe = f'case "$1" in -*) exec {shutil.which("partprobe")} "$@";; *) exec {refresh} "$1";; esac'
    scripts = {
        "partprobe": partprobe,
        "udevadm": f'case "$1" in settle) exec {refresh} "$MACHINE_DISK";; *) exit 1;; esac',
        "partx": f'exec {refresh} "$MACHINE_DISK"',
        "ip": 'case "$1 $2" in "route get") echo "$3 dev lo src $MACHINE_ADDRESS";; *) exit 1;; esac',
        "poweroff": f"exec {python} {folder / 'poweroff.py'}",
    }
    (folder / "poweroff.py").write_text(_POWEROFF)
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return folder


def run(folder: Path, story: str, machines: int, **told: str) -> None:
    """Run a story of ``stories.py``, which has so many machines, in a sandbox; skip the test if that does not hold.

    ``told``: where programs are, such as ``agent_python``, a Python that has the agent.
    """
    (folder / "sandbox").mkdir()
    programs = _programs(folder / "programs")
    with disks(folder, machines) as devices:
        settings = {
            "folder": str(folder / "sandbox"),
            "programs": str(programs),
            "disks": devices,
            "outside": isolation.namespaces(),
            **told,
        }
        file = folder / "sandbox.json"
        file.write_text(json.dumps(settings))
        tests = ("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "slow", "-s")
        done = subprocess.run(
            [
                *("unshare", "-m", "-n", "-p", "-f", "--kill-child", "--mount-proc"),
                *("setpriv", f"--bounding-set={_WITHOUT}", f"--inh-caps={_WITHOUT}"),
                *(sys.executable, "-m", "tests.agents.inside", file),
                *(sys.executable, *tests, f"--basetemp={folder}/sandbox/tests"),
                f"{Path(__file__).with_name('stories.py')}::{story}",
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "SANDBOX": str(file)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
        )
    print(done.stdout)
    if done.returncode == inside.UNSAFE:
        pytest.skip(done.stdout.strip().splitlines()[-1])
    assert done.returncode == 0, f"{story} failed in the sandbox: see its output"
