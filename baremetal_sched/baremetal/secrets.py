"""Secrets in what nodes carry: they are masked, and hashed for who has to check them only."""

import hashlib
import json
import os
import re
from functools import lru_cache
from typing import Any

import orjson

MASK = "******"

_SECRET = re.compile(
    r"password|passwd|passphrase|pswd|secret|token|admin_?pass|new_?pass|private_?key|encrypted_key|snmp_community",
    re.IGNORECASE,
)
#: Always masked in instance_info: a config drive is full of secrets, an image URL may be signed.
_INSTANCE_SECRETS = ("configdrive", "image_url")

#: Numbers stay as they are written: not every one that JSON can say fits into Python's or orjson's.
_DECODER = json.JSONDecoder(parse_float=orjson.Fragment, parse_int=orjson.Fragment)


def mask(document: dict[str, Any], *, instance: bool = False) -> dict[str, Any]:
    """A copy of ``document`` with the values of keys that name a secret replaced by stars, at any depth of objects.

    ``instance``: the document is an instance_info.
    """
    masked = {
        key: MASK if _names_secret(key) else mask(value) if isinstance(value, dict) else value
        for key, value in document.items()
    }
    if instance:
        masked |= {key: MASK for key in _INSTANCE_SECRETS if masked.get(key)}
    return masked


def mask_text(text: str | None, *, instance: bool = False) -> Any:
    """``mask`` of a JSON object in its text, as something that orjson can dump; ``{}`` for None."""
    if not text or text == "{}":
        return {}
    document = _decoded(text)
    masked = mask(document, instance=instance)
    return orjson.Fragment(text) if masked == document else masked


def mask_steps_text(text: str | None) -> Any:
    """``mask`` of each step of a JSON array in its text, as something that orjson can dump."""
    return [mask(step) for step in _decoded(text)] if text else []


def _decoded(text: str) -> Any:
    """What ``dump_json`` made a text of: there are no blanks around it."""
    return _DECODER.raw_decode(text)[0]


@lru_cache(maxsize=10_000)
def _names_secret(key: str) -> bool:
    return _SECRET.search(key) is not None


def hashed(password: str) -> str:
    """A salted hash of ``password``, which takes long to guess: ``$scrypt$<salt>$<hash>``, both in hexadecimal."""
    salt = os.urandom(16)
    digest = hashlib.scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1)
    return f"$scrypt${salt.hex()}${digest.hex()}"
