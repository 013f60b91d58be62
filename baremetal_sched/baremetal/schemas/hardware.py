"""Bodies of requests about boot devices, modes, indicators, consoles, virtual media and interfaces."""

from typing import Any
from urllib.parse import urlsplit

from marshmallow import INCLUDE, ValidationError, fields, validates_schema

from baremetal_sched.documents.schema import Flag, StrictSchema, Text, one_of

DEVICE_TYPES = ("disk", "cdrom", "floppy")
IMAGE_SOURCES = ("http", "local", "swift")
_URL_SCHEMES = ("http", "https", "nfs", "cifs", "smb")


class _BootDevice(StrictSchema):
    boot_device = Text(required=True)
    persistent = Flag()


class _BootMode(StrictSchema):
    target = Text(required=True)


class _SecureBoot(StrictSchema):
    target = Flag(required=True)


class _Indicator(StrictSchema):
    state = Text(required=True)


class _Console(StrictSchema):
    enabled = Flag(required=True)


class _VirtualMedia(StrictSchema):
    device_type = fields.String(required=True, validate=one_of(*DEVICE_TYPES))
    image_url = Text(required=True)
    image_download_source = fields.String(validate=one_of(*IMAGE_SOURCES))

    @validates_schema
    def check_url(self, data: dict[str, Any], **kwargs: Any) -> None:
        try:
            scheme = urlsplit(data["image_url"]).scheme
        except ValueError:
            scheme = ""
        if scheme not in _URL_SCHEMES:
            raise ValidationError(f"Unsupported or missing URL scheme: {scheme}", "image_url")


class _Vif(StrictSchema):
    class Meta:
        unknown = INCLUDE

    id = Text(required=True, shortest=1)


BOOT_DEVICE = _BootDevice()
BOOT_MODE = _BootMode()
SECURE_BOOT = _SecureBoot()
INDICATOR = _Indicator()
CONSOLE = _Console()
VIRTUAL_MEDIA = _VirtualMedia()
VIF = _Vif()
