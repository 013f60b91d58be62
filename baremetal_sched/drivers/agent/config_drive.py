"""The config drive of an instance, as ironic-python-agent takes it: a URL, or an image, compressed and in base64."""

import base64
import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

from pycdlib import PyCdlib

from baremetal_sched.documents.schema import decode_base64
from baremetal_sched.drivers.boot_settings import ImageUrl
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Machine

_WHERE = "instance_info/configdrive"
#: The agent makes a partition of 64 MiB for it.
_MOST = 64 * 2**20
_CHUNK = 2**20
#: In characters. URLs may be signed.
LONGEST_URL = 8192

#: The members that an object may have, each with the file that it becomes. openstacksdk makes the same files for
#: Ironic.
_FILES = {
    "meta_data": "meta_data.json",
    "user_data": "user_data",
    "network_data": "network_data.json",
    "vendor_data": "vendor_data2.json",
}
#: Versions of the format, which are the same here. Some programs read only one of these folders.
_VERSIONS = ("2012-08-10", "latest")
_LABEL = "config-2"


def config_drive(machine: Machine, name: str | None) -> str | None:
    """Return the config drive of the instance on ``machine``, whose node has this name; None if it has none.

    It is a URL of the user, whose address is not checked here, or an image in gzip and base64. Raises InvalidValue,
    which does not show the contents. The same input becomes the same image.
    """
    drive = machine.instance_info.get("configdrive")
    if drive is None or drive == "":
        return None
    if isinstance(drive, str):
        if drive.startswith(("http://", "https://")):
            ImageUrl.parse(_WHERE, drive, reader="agent", longest=LONGEST_URL)
            return drive
        return _checked(drive)
    if not isinstance(drive, Mapping):
        raise InvalidValue(message=f"{_WHERE} must be a URL, base64, or an object.")
    image = _image(_contents(drive, {"uuid": machine.uuid, "name": name}))
    return base64.b64encode(gzip.compress(image, compresslevel=6, mtime=0)).decode()


def _checked(text: str) -> str:
    """Return ``text`` without line breaks, if it is a compressed image in base64."""
    # A text that is longer than this holds more than the limit, unless gzip made it larger.
    if len(text) > _MOST * 3 // 2:
        raise _too_large()
    text = "".join(text.split())
    try:
        compressed = decode_base64(text)
    except ValueError:
        raise InvalidValue(message=f"{_WHERE} is neither a URL of http or https nor base64.") from None
    size = 0
    try:
        with gzip.GzipFile(fileobj=BytesIO(compressed)) as image:
            while chunk := image.read(_CHUNK):
                size += len(chunk)
                if size > _MOST:
                    raise _too_large()
    except (OSError, EOFError, zlib.error):
        raise InvalidValue(message=f"{_WHERE} is base64, but what it encodes is not gzip, or not all of it.") from None
    if not size:
        raise InvalidValue(message=f"{_WHERE} is an empty image.")
    return text


def _too_large() -> InvalidValue:
    return InvalidValue(message=f"{_WHERE} is larger than the {_MOST // 2**20} MiB that agents have room for.")


def _contents(drive: Mapping[str, Any], defaults: Mapping[str, str | None]) -> dict[str, bytes]:
    """Return the contents of the files. ``defaults`` are for the meta data."""
    if not drive.keys() <= _FILES.keys():
        raise InvalidValue(message=f"{_WHERE} may have nothing but {', '.join(_FILES)}.")
    for part in ("meta_data", "network_data", "vendor_data"):
        if not isinstance(drive.get(part), Mapping | None):
            raise InvalidValue(message=f"{_WHERE}/{part} must be an object.")
    if not isinstance(drive.get("user_data"), str | Mapping | list | None):
        raise InvalidValue(message=f"{_WHERE}/user_data must be a string, an object or an array.")
    known = {key: value for key, value in defaults.items() if value}
    documents = {**drive, "meta_data": known | dict(drive.get("meta_data") or {})}
    return {
        file: _encoded(part, documents[part])
        for part, file in _FILES.items()
        # User data in JSON may be empty.
        if documents.get(part) or (part == "user_data" and isinstance(documents.get(part), Mapping | list))
    }


def _encoded(part: str, document: object) -> bytes:
    try:
        text = document if isinstance(document, str) else json.dumps(document, sort_keys=True, allow_nan=False)
        return text.encode()
    except (TypeError, ValueError, RecursionError):
        raise InvalidValue(message=f"{_WHERE}/{part} is too deep, or its text is not valid.") from None


def _image(files: Mapping[str, bytes]) -> bytes:
    """Return an ISO 9660 image with ``files``, whose names Rock Ridge and Joliet tell in full."""
    if len(_VERSIONS) * sum(map(len, files.values())) > _MOST - 2**20:
        raise _too_large()
    disc = PyCdlib()
    disc.new(interchange_level=3, vol_ident=_LABEL, joliet=3, rock_ridge="1.09")
    _add_folder(disc, "/openstack")
    for version in _VERSIONS:
        _add_folder(disc, f"/openstack/{version}")
        for name, content in files.items():
            path = f"/openstack/{version}/{name}"
            plain = f"{_plain(path)}{'' if '.' in name else '.'};1"
            disc.add_fp(BytesIO(content), len(content), plain, rr_name=name, joliet_path=path, file_mode=0o100444)
    written = BytesIO()
    disc.write_fp(written)
    disc.close()
    return _without_dates(written.getbuffer())


def _add_folder(disc: PyCdlib, path: str) -> None:
    disc.add_directory(_plain(path), rr_name=path.rpartition("/")[2], joliet_path=path)


def _plain(path: str) -> str:
    """The path in the characters of ISO 9660 itself, for readers that know no extension."""
    return path.upper().replace("-", "_")


_SECTOR = 2048
#: The date of everything in an image, as volume descriptors have it, and as directories do.
_DATE, _SHORT_DATE = b"1980010100000000\0", bytes((80, 1, 1, 0, 0, 0, 0))
#: Where a volume descriptor has its dates.
_CREATED, _MODIFIED, _EFFECTIVE = 813, 830, 864
_PRIMARY, _SUPPLEMENTARY, _LAST = 1, 2, 255


def _without_dates(image: memoryview) -> bytes:
    """Return ``image`` with fixed dates: pycdlib writes the time of its work, in the time zone of the process."""
    for place in range(16 * _SECTOR, len(image), _SECTOR):
        kind = image[place]
        if kind == _LAST:
            break
        if kind in (_PRIMARY, _SUPPLEMENTARY):
            for date in (_CREATED, _MODIFIED, _EFFECTIVE):
                image[place + date : place + date + len(_DATE)] = _DATE
            for record in _records(image, place + 156):
                _date(image, record)
    return bytes(image)


def _records(image: memoryview, directory: int) -> Iterator[int]:
    """Yield where records are: that of this directory, those in it, and those below."""
    yield directory
    extent, length = _number(image, directory + 2) * _SECTOR, _number(image, directory + 10)
    place = extent
    while place < extent + length:
        if not image[place]:  # no record crosses the end of a sector
            place += _SECTOR - place % _SECTOR
            continue
        is_directory, name = image[place + 25] & 2, bytes(image[place + 33 : place + 33 + image[place + 32]])
        if is_directory and name not in (b"\0", b"\1"):  # the directory itself and the one above
            yield from _records(image, place)
        else:
            yield place
        place += image[place]


def _number(image: memoryview, place: int) -> int:
    return int.from_bytes(image[place : place + 4], "little")


def _date(image: memoryview, record: int) -> None:
    """Set the date of a record, and Rock Ridge's dates in it."""
    image[record + 18 : record + 25] = _SHORT_DATE
    name = image[record + 32]
    place = record + 33 + name + (name % 2 == 0)
    while place + 4 <= record + image[record]:
        signature, length = bytes(image[place : place + 2]), image[place + 2]
        if signature == b"TF":
            image[place + 5 : place + length] = _SHORT_DATE * ((length - 5) // len(_SHORT_DATE))
        place += max(length, 4)
