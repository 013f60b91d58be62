"""TLS of ``serve``: its options and their checks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import structlog

from baremetal_sched.server.tls import doubts_about, is_self_signed, load_first, make_context

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Tls:
    """Usable files of a certificate and its key."""

    certificate: Path
    key: Path
    #: The certificate that clients need; None if a certificate authority has signed it.
    cacert: Path | None

    def options(self) -> dict[str, Any]:
        """Return the corresponding settings of gunicorn."""
        return {"certfile": str(self.certificate), "keyfile": str(self.key)}


def check(certificate: str | None, key: str | None) -> Tls | None:
    """Return the files to use; None without TLS. Logs validity dates for which clients will refuse the certificate.

    Raises UsageError if only one of the files is given, and UnusableCertificate.
    """
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise click.UsageError("--tls-cert and --tls-key must be given together.")
    make_context(certificate, key)
    loaded = load_first(certificate)
    if doubts := doubts_about(loaded):
        log.warning("clients will refuse the certificate", certificate=certificate, reason=doubts)
    path = Path(certificate).absolute()
    return Tls(path, Path(key).absolute(), path if is_self_signed(loaded) else None)
