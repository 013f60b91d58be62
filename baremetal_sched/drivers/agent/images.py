"""The image of an instance: the node's fields about it, checked, and in the form that ironic-python-agent takes."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from baremetal_sched.documents.schema import canonical_uuid, excerpt, parse_flag
from baremetal_sched.drivers.agent.config_drive import LONGEST_URL
from baremetal_sched.drivers.boot_settings import ImageUrl, capabilities, required_mode
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.device_hints import matching
from baremetal_sched.machines.machine import Machine

PARTITION, WHOLE_DISK = "partition", "whole-disk-image"

#: Hexadecimal digits of a hash, by the name that Python has for the algorithm.
_DIGITS = {"md5": 32, "sha1": 40, "sha224": 56, "sha256": 64, "sha384": 96, "sha512": 128}
_DIGITS |= {"sha3_224": 56, "sha3_256": 64, "sha3_384": 96, "sha3_512": 128, "blake2b": 128, "blake2s": 64}
#: The algorithms that agents recognize by the length of a checksum.
_RECOGNIZED = ("md5", "sha256", "sha512")
_HEX = re.compile("[0-9a-f]+")

#: A host, or a domain after a dot, and maybe a port.
_LABEL = r"(?!-)[a-z0-9-]{1,63}(?<!-)"
_NOT_PROXIED = re.compile(rf"\.?{_LABEL}(\.{_LABEL})*(:[0-9]{{1,5}})?", re.IGNORECASE)
_LONGEST_HOST = 260

#: Formats that agents tell from the content of an image.
_DETECTED = frozenset({"raw", "gpt", "qcow2", "iso", "vmdk", "vhd", "vhdx", "vdi", "qed", "luks"})
_DISK_LABELS = ("gpt", "msdos")
_EPHEMERAL_FORMAT = "ext4"
_MOST_SPACE = 2**40


def validate(machine: Machine) -> None:
    """Raise InvalidValue, which names all that is missing or wrong, unless an agent can write the image."""
    wrong = []
    for check in (source, _checksum, _described, _partitions, _proxies, _check_download, check_root_device):
        try:
            check(machine)
        except InvalidValue as error:
            wrong.append(str(error))
    if wrong:
        raise InvalidValue(message=f"No image can be written for node {machine.uuid}: {' '.join(wrong)}")


def image_info(machine: Machine, url: str) -> dict[str, object]:
    """Return the argument ``image_info`` of the agent's step ``write_image``. ``url`` is where the image is.

    The config drive is an argument of its own. Raises InvalidValue, as ``validate`` does, but only about the first
    error.
    """
    return {
        "id": _id(machine),
        "urls": [url],
        **_described(machine),
        "stream_raw_images": machine.settings.agent.stream_raw_images,
        **_checksum(machine),
        **_proxies(machine),
        "node_uuid": machine.uuid,
        **_partitions(machine),
    }


def is_partition(machine: Machine) -> bool:
    """Return whether the image is one of a partition, for which the agent makes partitions, or one of a whole disk."""
    info = machine.instance_info
    kind = info.get("image_type")
    if kind and kind not in (PARTITION, WHOLE_DISK):
        raise InvalidValue(message=f"instance_info/image_type must be {PARTITION} or {WHOLE_DISK}.")
    return kind == PARTITION if kind else bool(info.get("kernel") or info.get("ramdisk"))


def check_root_device(machine: Machine) -> None:
    """Raise InvalidValue unless agents know all hints of the root device."""
    where, hints = "instance_info", machine.instance_info.get("root_device")
    if not hints:
        where, hints = "properties", machine.properties.get("root_device")
    if not hints:
        return
    try:
        matching((), hints)
    except InvalidValue as error:
        raise InvalidValue(message=f"{where}/root_device: {error}") from None
    if str(hints.get("size")).strip().lower().startswith("<range-in>"):
        raise InvalidValue(message=f"{where}/root_device: agents do not know <range-in>, only rules of inspection do.")


def source(machine: Machine) -> str:
    """Return the URL of the image. Raises InvalidValue."""
    name, url = "instance_info/image_source", machine.instance_info.get("image_source")
    if not url:
        raise InvalidValue(message=f"{name} is missing.")
    if isinstance(url, str):
        scheme = url.partition(":")[0].lower()
        if scheme == "file":
            raise InvalidValue(
                message=f"{name} is a file, which agents cannot get: conductors serve no files. Give the URL of a web "
                "server."
            )
        if scheme == "glance" or canonical_uuid(url):
            raise InvalidValue(
                message=f"{name} is the id of an image, but images carry no data. Give a URL of http or https; to the "
                "image, as its property image_source, or by importing it from there."
            )
    _check_url(name, url)
    return str(url)


def _check_url(name: str, value: object) -> None:
    ImageUrl.parse(name, value, reader="agent", longest=LONGEST_URL)


def _id(machine: Machine) -> str:
    """The name of the agent's file. An agent writes no image again that has the same id as the one before.

    Queries are left out, because they may be signatures, and agents report the id.
    """
    url = source(machine)
    digest = hashlib.sha256(repr((url, sorted(_checksum(machine).items()))).encode(errors="replace"))
    return f"{digest.hexdigest()[:8]}-{urlsplit(url).path.rpartition('/')[2][-40:]}"


def _checksum(machine: Machine) -> dict[str, str]:
    info = machine.instance_info
    algorithm, value = info.get("image_os_hash_algo"), info.get("image_os_hash_value")
    if not algorithm and not value:
        return {"checksum": _hash(machine, "image_checksum", info.get("image_checksum"), _RECOGNIZED)}
    if not algorithm or not value:
        raise InvalidValue(
            message="Of instance_info/image_os_hash_algo and instance_info/image_os_hash_value only one is given."
        )
    algorithm = algorithm.lower() if isinstance(algorithm, str) else ""
    if algorithm not in _DIGITS:
        raise InvalidValue(message=f"instance_info/image_os_hash_algo must be one of {', '.join(_DIGITS)}.")
    if algorithm == "md5":
        _require_md5(machine, "image_os_hash_algo")
    return {"os_hash_algo": algorithm, "os_hash_value": _hash(machine, "image_os_hash_value", value, (algorithm,))}


def _hash(machine: Machine, name: str, value: object, algorithms: tuple[str, ...]) -> str:
    """A hash of one of these algorithms, in the lower case that agents compare, or the URL of a file of hashes."""
    if not value:
        raise InvalidValue(
            message="instance_info has neither image_os_hash_algo and image_os_hash_value nor image_checksum: agents "
            "write no image that they cannot verify."
        )
    if isinstance(value, str) and value.startswith(("http://", "https://")):
        _check_url(f"instance_info/{name}", value)
        return value
    text = value.strip().lower() if isinstance(value, str) else ""
    digits = {_DIGITS[algorithm]: algorithm for algorithm in algorithms}
    if len(text) not in digits or not _HEX.fullmatch(text):
        raise InvalidValue(
            message=f"instance_info/{name} must be a URL of http or https, or {' or '.join(map(str, digits))} "
            f"hexadecimal digits ({', '.join(algorithms)})."
        )
    if digits[len(text)] == "md5":
        _require_md5(machine, name)
    return text


def _require_md5(machine: Machine, name: str) -> None:
    if not machine.settings.agent.allow_md5_checksum:
        raise InvalidValue(message=f"instance_info/{name} is of MD5, which [agent] allow_md5_checksum forbids.")


def _described(machine: Machine) -> dict[str, str | None]:
    """Return the formats. Raises InvalidValue for one that the agent would find in the image, and not write."""
    found = {name: _text(machine, f"image_{name}") for name in ("disk_format", "container_format")}
    name, permitted = found["disk_format"], machine.settings.conductor.permitted_image_formats
    if name in _DETECTED and name not in permitted:
        raise InvalidValue(
            message=f"instance_info/image_disk_format is {name}, but [conductor] permitted_image_formats has only "
            f"{', '.join(permitted)}. Convert the image, or add {name} to the option."
        )
    return found


def _text(machine: Machine, name: str) -> str | None:
    value = machine.instance_info.get(name)
    if value and not isinstance(value, str):
        raise InvalidValue(message=f"instance_info/{name} must be a string, not {excerpt(value)}.")
    return value or None


def _partitions(machine: Machine) -> dict[str, object]:
    """The agent's arguments for making partitions; nothing for the image of a whole disk."""
    info = machine.instance_info
    if parse_flag("instance_info/preserve_ephemeral", info.get("preserve_ephemeral") or False):
        raise InvalidValue(
            message="instance_info/preserve_ephemeral cannot be done: this release writes all partitions anew."
        )
    mode = required_mode(machine) or machine.boot_mode or "uefi"
    if not is_partition(machine):
        return {}
    root, ephemeral = _space(info, "root_gb", least=1), _space(info, "ephemeral_gb")
    label = capabilities(info).get("disk_label") or ("gpt" if mode == "uefi" else None)
    if label not in (*_DISK_LABELS, None):
        raise InvalidValue(message=f"The capability disk_label must be {' or '.join(_DISK_LABELS)}.")
    return {
        "kernel": info.get("kernel"),
        "ramdisk": info.get("ramdisk"),
        "root_gb": root,
        "root_mb": root * 1024,
        "swap_mb": _space(info, "swap_mb"),
        "ephemeral_mb": ephemeral * 1024,
        "ephemeral_format": _text(machine, "ephemeral_format") or (_EPHEMERAL_FORMAT if ephemeral else None),
        "preserve_ephemeral": False,
        "image_type": PARTITION,
        "deploy_boot_mode": mode,
        "boot_option": "local",
        **({"disk_label": label} if label else {}),
    }


def _space(info: Mapping[str, Any], name: str, least: int = 0) -> int:
    value = info.get(name)
    if value in (None, "") and not least:
        return 0
    # Nova writes numbers as strings. Long ones cannot be converted.
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and least <= int(text) <= _MOST_SPACE):
        raise InvalidValue(
            message=f"instance_info/{name} must be a whole number of at least {least}, not {excerpt(value)}."
            if value is not None
            else f"instance_info/{name} is missing: the agent must make a partition for the image."
        )
    return int(text)


def _proxies(machine: Machine) -> dict[str, object]:
    info = machine.driver_info
    proxies = {scheme: info[key] for scheme in ("http", "https") if info.get(key := f"image_{scheme}_proxy")}
    for scheme, value in proxies.items():
        # A proxy may also be a host and a port.
        url = f"http://{value}" if isinstance(value, str) and "://" not in value else value
        ImageUrl.parse(f"driver_info/image_{scheme}_proxy", url, reader="agent")
    excluded = info.get("image_no_proxy")
    if excluded is not None and not _is_list_of_hosts(excluded):
        raise InvalidValue(
            message="driver_info/image_no_proxy must be a list of hosts, addresses and domains (with a dot before "
            "them), with commas between."
        )
    if not proxies:
        return {}
    return {"proxies": proxies} | ({} if excluded is None else {"no_proxy": excluded})


def _is_list_of_hosts(value: object) -> bool:
    hosts = [host.strip() for host in value.split(",")] if isinstance(value, str) else ["?"]
    return all(len(host) <= _LONGEST_HOST and _NOT_PROXIED.fullmatch(host) for host in hosts if host)


def _check_download(machine: Machine) -> None:
    """Raise InvalidValue unless the agent is to get the image from where it is."""
    for where, info in (("instance_info", machine.instance_info), ("driver_info", machine.driver_info)):
        if chosen := info.get("image_download_source"):
            if chosen != "http":
                raise InvalidValue(
                    message=f"{where}/image_download_source must be http, not {excerpt(chosen)}: agents get images "
                    "from image_source; there is no Swift, and conductors keep no copies."
                )
            return
