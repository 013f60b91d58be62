"""URLs of images that machines are to boot, as clients give them."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from baremetal_sched.errors import InvalidValue

#: In characters. Controllers take less than that, if anything.
_LONGEST = 2048
_WEB = ("http", "https")


@dataclass(frozen=True)
class ImageUrl:
    """Where an image is. ``url`` has neither user nor password, which stand beside it."""

    url: str
    scheme: str
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, name: str, value: Any, schemes: Collection[str] = _WEB) -> Self:
        """The URL ``value``, of the field ``name``. Raises InvalidValue, which does not repeat it."""
        if not isinstance(value, str) or not value.isprintable() or " " in value or len(value) > _LONGEST:
            raise InvalidValue(message=f"{name} has to be a URL of up to {_LONGEST} characters, without blanks.")
        try:
            parts = urlsplit(value)
            host = parts.hostname
            _ = parts.port
        except ValueError as error:
            raise InvalidValue(message=f"{name} is not a URL.") from error
        if parts.scheme not in schemes or not host:
            raise InvalidValue(
                message=f"{name} has to be a URL that the machine's management controller can fetch by itself, with "
                f"one of these schemes: {', '.join(schemes)}."
            )
        place = parts.netloc.rpartition("@")[2]
        return cls(
            url=parts._replace(netloc=place).geturl(),
            scheme=parts.scheme,
            username=unquote(parts.username) if parts.username else None,
            password=unquote(parts.password) if parts.password else None,
        )

    @property
    def shown(self) -> str:
        """What may be said of it: queries may be signatures."""
        return self.url.partition("?")[0].partition("#")[0]
