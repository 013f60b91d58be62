"""Bodies of requests about boot devices, modes, indicators, consoles, virtual media and interfaces."""

from typing import Any
from urllib.parse import urlsplit

from marshmallow import INCLUDE, ValidationError, validates_schema

from baremetal_sched.documents.schema import Choice, Flag, StrictSchema, Text

DEVICE_TYPES = ("disk", "cdrom", "floppy")
IMAGE_SOURCES = ("http", "local", "swift")


class _BootDevice(StrictSchema):
    """The body of PUT /v1/nodes/{node}/management/boot_device."""

    boot_device = Text(required=True)
    persistent = Flag()


class _BootMode(StrictSchema):
    """The body of PUT /v1/nodes/{node}/states/boot_mode."""

    target = Text(required=True)


class _SecureBoot(StrictSchema):
    """The body of PUT /v1/nodes/{node}/states/secure_boot."""

    target = Flag(required=True)


class _Indicator(StrictSchema):
    """The body of PUT /v1/nodes/{node}/management/indicators/{indicator}."""

    state = Text(required=True)


class _Console(StrictSchema):
    """The body of PUT /v1/nodes/{node}/states/console."""

    enabled = Flag(required=True)


class _VirtualMedia(StrictSchema):
    """The body of POST /v1/nodes/{node}/vmedia."""

    device_type = Choice(DEVICE_TYPES, required=True)
    image_url = Text(required=True)
    image_download_source = Choice(IMAGE_SOURCES)

    @validates_schema
    def check_url(self, data: dict[str, Any], **kwargs: Any) -> None:
        try:
            scheme = urlsplit(data["image_url"]).scheme
        except ValueError:
            scheme = ""
        if scheme not in ("http", "https", "nfs", "cifs", "smb"):
            raise ValidationError(f"Unsupported or missing URL scheme: {scheme}", "image_url")


class _Vif(StrictSchema):
    """The body of POST /v1/nodes/{node}/vifs; drivers may take further members."""

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
