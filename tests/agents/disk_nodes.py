"""Stands in for udev in the sandbox: after ``disk_nodes.py DISK`` the kernel and /dev know the partitions of a disk.

Not every kernel reads GPT, so the partitions are told to it. Standard library only; it is called by wrappers of
``partprobe`` and ``udevadm``.
"""

import os
import stat
import subprocess
import sys
from pathlib import Path

#: Absolute: the caller's PATH has no partx.
_PARTX = "/usr/bin/partx"


def refresh(disk: Path) -> None:
    """Make the partitions of a loop device that its table names, and their device files."""
    if not disk.name.startswith("loop"):
        raise SystemExit(f"{disk} is not a disk of the test")
    updated = subprocess.run([_PARTX, "--update", disk], capture_output=True)
    if updated.returncode:  # there is no table
        subprocess.run([_PARTX, "--delete", disk], capture_output=True)
    known = {path.name: path / "dev" for path in Path("/sys/block", disk.name).glob(f"{disk.name}p*")}
    for path in disk.parent.glob(f"{disk.name}p*"):
        if path.name not in known or _number(path) != known[path.name].read_text().strip():
            path.unlink()
    for name, number in known.items():
        if not (path := disk.with_name(name)).exists():
            major, minor = map(int, number.read_text().split(":"))
            os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(major, minor))


def _number(path: Path) -> str:
    device = path.stat().st_rdev
    return f"{os.major(device)}:{os.minor(device)}"


if __name__ == "__main__":
    refresh(Path(sys.argv[1]))
