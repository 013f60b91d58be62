"""TLS of ``serve``: its options, and what they come to."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import structlog

from baremetal_sched.server.tls import doubts_about, is_self_signed, load_first, make_context

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Tls:
    """Files of a certificate and its key that can be used."""

    certificate: Path
    key: Path
    #: What clients have to be given to trust the certificate; None if an authority has signed it.
    cacert: Path | None

    def options(self) -> dict[str, Any]:
        """Return the settings of gunicorn for them."""
        return {"certfile": str(self.certificate), "keyfile": str(self.key)}


def check(certificate: str | None, key: str | None) -> Tls | None:
    """Return what is to be used; None without TLS. Dates for which clients will refuse it are logged.

    Raises UsageError if one of the two is missing, and UnusableCertificate.
    """
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise click.UsageError("--tls-cert and --tls-key need each other.")
    make_context(certificate, key)
    loaded = load_first(certificate)
    if doubts := doubts_about(loaded):
        log.warning("clients will refuse the certificate", certificate=certificate, reason=doubts)
    path = Path(certificate).absolute()
    return Tls(path, Path(key).absolute(), path if is_self_signed(loaded) else None)
