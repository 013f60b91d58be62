"""Signatures of deliveries, as Standard Webhooks specifies them: the receiver checks who sent it, and when."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable

_PREFIX = "whsec_"
#: Bytes of a secret; the specification wants 24 to 64.
_BYTES = 32


def new_secret() -> str:
    """Return a new secret, as its receiver stores it: ``whsec_`` and 32 random bytes in base64."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


def headers_of(message: str, seconds: int, body: bytes, keys: Iterable[str]) -> dict[str, str]:
    """Return the headers of a delivery with the id ``message`` at ``seconds`` since 1970, signed with every secret in
    ``keys``: a receiver accepts it if it knows one of them."""
    signed = f"{message}.{seconds}.".encode() + body
    signatures = (base64.b64encode(hmac.digest(_key(each), signed, hashlib.sha256)).decode() for each in keys)
    return {
        "webhook-id": message,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(f"v1,{each}" for each in signatures),
    }


def _key(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix(_PREFIX))
