"""Masking of secrets in what nodes carry."""

import re
from typing import Any

MASK = "******"

_SECRET = re.compile(
    r"password|passwd|passphrase|pswd|secret|token|admin_?pass|new_?pass|private_?key|encrypted_key|snmp_community",
    re.IGNORECASE,
)
#: Always masked in instance_info: a config drive is full of secrets, an image URL may be signed.
_INSTANCE_SECRETS = ("configdrive", "image_url")


def mask(document: dict[str, Any], *, instance: bool = False) -> dict[str, Any]:
    """A copy of ``document`` with the values of keys that name a secret replaced by stars, at any depth of objects.

    ``instance``: the document is an instance_info.
    """
    masked = {
        key: MASK if _SECRET.search(key) else mask(value) if isinstance(value, dict) else value
        for key, value in document.items()
    }
    if instance:
        masked |= {key: MASK for key in _INSTANCE_SECRETS if masked.get(key)}
    return masked
