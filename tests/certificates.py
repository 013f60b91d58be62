"""Certificates for tests, made when they are needed."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Certificate:
    """A self-signed certificate and its key, as PEM files."""

    certificate: Path
    key: Path

    def trusting(self) -> ssl.SSLContext:
        """The settings of a client that trusts this certificate, and no other."""
        return ssl.create_default_context(cafile=str(self.certificate))


def make_certificate(
    folder: Path,
    name: str = "server",
    *,
    passphrase: bytes | None = None,
    days: tuple[int, int] = (-1, 2),
    authority: bool = True,
) -> Certificate:
    """A certificate for 127.0.0.1, ::1 and localhost; it is valid from and until these days, counted from now.

    Without ``authority`` it is one as agents make it: for 127.0.0.1 only, and not allowed to sign others.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names: list[x509.GeneralName] = [x509.IPAddress(ip_address("127.0.0.1"))]
    if authority:
        names += [x509.DNSName("localhost"), x509.IPAddress(ip_address("::1"))]
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + days[0] * _DAY)
        .not_valid_after(now + days[1] * _DAY)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )
    if authority:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    certificate = builder.sign(key, hashes.SHA256())
    made = Certificate(folder / f"{name}.pem", folder / f"{name}.key")
    made.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    protection = serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
    made.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, protection))
    made.key.chmod(0o600)
    return made
