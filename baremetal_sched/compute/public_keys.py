"""Public keys: new pairs, and the fingerprints of keys and certificates."""

import base64
import binascii
import hashlib

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from baremetal_sched.errors.compute import InvalidKeypair

#: Comment of a public key that was made here.
_COMMENT = "Generated-by-baremetal-sched"


def fingerprint(public_key: str, key_type: str) -> str:
    """Return the fingerprint of a public key, as Nova shows it: pairs of digits separated by colons.

    MD5 of an ``ssh`` key, SHA-1 of an ``x509`` certificate in PEM. Raises InvalidKeypair if it is not one.
    """
    try:
        digest = _certificate_digest(public_key) if key_type == "x509" else _ssh_digest(public_key)
    except (ValueError, IndexError, UnsupportedAlgorithm, binascii.Error):
        expected = "a certificate in PEM" if key_type == "x509" else "a public key in OpenSSH's format"
        raise InvalidKeypair(reason=f"failed to generate fingerprint: public_key must be {expected}.") from None
    return digest.hex(":")


def generate() -> tuple[str, str]:
    """Return a new pair of Ed25519 keys in OpenSSH's format: the private one and the public one."""
    key = ed25519.Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return private.decode(), f"{public.decode()} {_COMMENT}"


def _ssh_digest(public_key: str) -> bytes:
    text = public_key.strip()
    serialization.load_ssh_public_key(text.encode())
    return hashlib.md5(base64.b64decode(text.split()[1]), usedforsecurity=False).digest()


def _certificate_digest(public_key: str) -> bytes:
    return x509.load_pem_x509_certificate(public_key.encode()).fingerprint(hashes.SHA1())  # noqa: S303 - as clients show it
