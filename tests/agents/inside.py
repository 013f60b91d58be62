"""The sandbox from within: ``inside.py SETTINGS COMMAND...`` closes it, proves that, and becomes the command.

SETTINGS is a JSON file of ``sandbox.py``. Ends with ``UNSAFE`` and the reasons if an agent could do harm.
"""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.agents import isolation

UNSAFE = 77
_CHARACTERS = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)}
_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
#: The networks of machines: benchmark addresses, which are never routed.
NETWORK = "198.18.0.1/24"


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True)


def _tmpfs(where: str | Path, options: str = "mode=755") -> None:
    _run("mount", "-t", "tmpfs", "-o", f"nosuid,{options}", "tmpfs", where)


def close(folder: Path, disks: dict[str, list[int]]) -> None:
    """Leave nothing of the machine but files that can be read, and the disks of the test."""
    _run("mount", "--make-rprivate", "/")
    _run("ip", "link", "set", "lo", "up")
    _run("ip", "address", "add", NETWORK, "dev", "lo")
    for path in Path("/sys/block").iterdir():
        if f"/dev/{path.name}" not in disks:
            _tmpfs(path.resolve(), "nodev,ro,size=4k")
    _tmpfs("/run", "nodev,mode=755,size=16m")
    if Path("/sys/firmware").is_dir():
        _tmpfs("/sys/firmware", "nodev,ro,size=4k")
    _tmpfs(folder, "nodev,mode=755,size=2g")
    for name in ("upper", "work"):
        (folder / "etc" / name).mkdir(parents=True)
    _run("mount", "-t", "overlay", "-o", f"nodev,lowerdir=/etc,upperdir={folder}/etc/upper,workdir={folder}/etc/work",
         "overlay", "/etc")  # fmt: skip
    _run("umount", "--lazy", "--recursive", "/dev")
    _tmpfs("/dev", "mode=755,size=1m")
    _fill_dev(disks)
    writable = {"/run", "/etc", "/dev", str(folder)}
    for line in Path("/proc/self/mounts").read_text().splitlines():
        where = line.split()[1].encode().decode("unicode_escape")
        if where not in writable and Path(where).exists():
            _run("mount", "-o", "remount,bind,ro,nodev", where)


def _fill_dev(disks: dict[str, list[int]]) -> None:
    for name, number in _CHARACTERS.items():
        path = Path("/dev", name)
        os.mknod(path, stat.S_IFCHR, os.makedev(*number))
        path.chmod(0o666)
    for name, target in _LINKS.items():
        Path("/dev", name).symlink_to(target)
    Path("/dev/shm").mkdir(mode=0o1777)
    for name, (major, minor) in disks.items():
        os.mknod(name, stat.S_IFBLK | 0o600, os.makedev(major, minor))


def main() -> None:
    """Close the sandbox, and run the command in it if that has succeeded."""
    settings: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
    folder, programs = Path(settings["folder"]), Path(settings["programs"])
    if os.getpid() != 1 or isolation.namespaces()["mnt"] == settings["outside"]["mnt"]:
        raise SystemExit("This would mount over the machine's own folders: it is not in a sandbox.")
    try:
        close(folder, settings["disks"])
        flaws = isolation.flaws(settings["outside"], settings["disks"], programs)
    except (OSError, subprocess.CalledProcessError) as error:
        flaws = [str(error)]
    if flaws:
        print(f"The sandbox does not hold: {'; '.join(flaws)}")
        raise SystemExit(UNSAFE)
    os.environ["TMPDIR"] = os.environ["HOME"] = str(folder)
    # This process is the first of its namespace: it waits for all others.
    raise SystemExit(subprocess.run(sys.argv[2:]).returncode)


if __name__ == "__main__":
    main()
