"""Proof that nothing outside of the sandbox can be erased or switched off from within. Standard library only."""

import errno
import os
import re
import shutil
import socket
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

#: Capabilities that no process in the sandbox may ever have: their numbers.
_FORBIDDEN = {"sys_module": 16, "sys_rawio": 17, "sys_boot": 22, "sys_time": 25}
NAMESPACES = ("mnt", "net", "pid")
_READ_ONLY = ("/proc/sysrq-trigger", "/proc/sys/kernel/sysrq", "/sys/power/state")
_DANGEROUS = (
    *("poweroff", "reboot", "halt", "shutdown", "systemctl", "init", "telinit", "kexec"),
    *("efibootmgr", "modprobe", "insmod", "mdadm", "ipmitool", "hwclock", "ntpdate", "chronyd", "chronyc"),
    *("mount", "umount", "losetup", "mknod", "nvme", "hdparm", "shred", "smartctl", "multipath", "iscsistart"),
)
#: The only one of these that there is, and it is ours.
_STUB = "poweroff"


def namespaces() -> dict[str, str]:
    """Return the namespaces of this process."""
    return {name: str(Path(f"/proc/self/ns/{name}").readlink()) for name in NAMESPACES}


def flaws(outside: Mapping[str, str], disks: Iterable[str], programs: Path) -> list[str]:
    """Return all reasons why no agent may be started here; none if this is a sandbox that holds.

    ``outside``: the namespaces of the machine; ``disks``: the block devices of the test; ``programs``: the folder that
    is an agent's PATH.
    """
    return [
        *_shared_namespaces(outside),
        *_foreign_interfaces(),
        *_foreign_disks(set(disks)),
        *_writable(),
        *_capabilities(),
        *_reachable(programs),
    ]


def _shared_namespaces(outside: Mapping[str, str]) -> Iterable[str]:
    inside = namespaces()
    for name in NAMESPACES:
        if inside[name] == outside.get(name, inside[name]):
            yield f"the {name} namespace is that of the machine"


def _foreign_interfaces() -> Iterable[str]:
    found = [name for _, name in socket.if_nameindex() if name != "lo"]
    if found:
        yield f"there are network interfaces: {', '.join(found)}"


def _foreign_disks(disks: set[str]) -> Iterable[str]:
    found = {str(path) for path in Path("/dev").rglob("*") if stat.S_ISBLK(path.lstat().st_mode)}
    # Partitions come and go.
    allowed = {path for path in found if re.sub(r"(?<=\d)p\d+$", "", path) in disks}
    if found != allowed or not disks <= found:
        yield f"block devices are {sorted(found)}, not {sorted(disks)} and partitions of them"
    names = {Path(disk).name for disk in disks}
    for path in Path("/sys/block").iterdir():
        if path.name not in names and (path / "dev").exists():
            yield f"{path} is visible"
    # Of several mounts at one place, the last one is seen.
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    for where, options in {where: options for _, where, _, options, *_ in mounts}.items():
        if where != "/dev" and "nodev" not in options.split(","):
            yield f"device files could be used at {where}"


def _writable() -> Iterable[str]:
    for name in _READ_ONLY:
        if (why := _why_not_writable(name)) not in (errno.EROFS, errno.ENOENT):
            yield f"{name} could be opened for writing ({why})"
    if not os.statvfs("/").f_flag & os.ST_RDONLY:
        yield "/ is not read-only"


def _why_not_writable(name: str) -> int | None:
    """Return the error number of opening it. Nothing is written."""
    try:
        os.close(os.open(name, os.O_WRONLY))
    except OSError as error:
        return error.errno
    return None


def _capabilities() -> Iterable[str]:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    for kind in ("CapBnd", "CapPrm", "CapEff", "CapInh", "CapAmb"):
        held = int(status[kind], 16)
        for name, number in _FORBIDDEN.items():
            if held >> number & 1:
                yield f"{kind} has {name}"


def _reachable(programs: Path) -> Iterable[str]:
    for name in _DANGEROUS:
        found = shutil.which(name, path=str(programs))
        if found is None:
            continue
        path = Path(found)
        if name != _STUB or path.is_symlink() or path.parent != programs:
            yield f"an agent would find {found}"
