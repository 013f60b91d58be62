"""Secrets in the fields of nodes: they are masked, or hashed if they need only be verified."""

import hashlib
import json
import os
from typing import Any

import orjson

from baremetal_sched import masking
from baremetal_sched.db.sealing import masked_text
from baremetal_sched.masking import MASK

__all__ = ["MASK", "hashed", "mask", "mask_json", "mask_steps_text", "mask_text"]

#: Always masked in instance_info: it may be signed.
_IMAGE_URL = "image_url"

#: Numbers stay as they are written: some numbers of JSON fit neither into Python's nor into orjson's types.
#: ``dump_json`` leaves no blanks around a document, so it is found at 0.
_decode = json.JSONDecoder(parse_float=orjson.Fragment, parse_int=orjson.Fragment).scan_once  # type: ignore[attr-defined]


def mask(document: dict[str, Any], *, instance: bool = False) -> dict[str, Any]:
    """Return a copy of ``document`` with stars in place of secrets. ``instance``: it is an instance_info."""
    masked: dict[str, Any] = masking.mask(document)
    if instance:
        _mask_image_url(masked)
    return masked


def mask_text(text: str | None, *, instance: bool = False) -> Any:
    """``mask`` of a JSON object in its stored text, as something that orjson can dump; ``{}`` for None."""
    if not text or text == "{}":
        return {}
    text = masked_text(text)
    document = _decode(text, 0)[0]
    masked = masking.mask_decoded(document, text)
    if instance:
        _mask_image_url(masked)
    return orjson.Fragment(text) if masked == document else masked


def mask_steps_text(text: str | None) -> Any:
    """``mask`` of each step of a JSON array in its stored text, as something that orjson can dump."""
    text = masked_text(text) if text else "[]"
    return masking.mask_decoded(_decode(text, 0)[0], text)


def mask_json(text: str) -> orjson.Fragment:
    """Return stored JSON of any kind, large perhaps, with stars in place of secrets."""
    text = masked_text(text)
    if not masking.mentions_secret(text):
        return orjson.Fragment(text)
    return orjson.Fragment(orjson.dumps(masking.mask_decoded(_decode(text, 0)[0], text)))


def _mask_image_url(instance_info: dict[str, Any]) -> None:
    if instance_info.get(_IMAGE_URL):
        instance_info[_IMAGE_URL] = MASK


def hashed(password: str) -> str:
    """Return a salted hash of ``password`` that is slow to guess: ``$scrypt$<salt>$<hash>``, both in hexadecimal."""
    salt = os.urandom(16)
    digest = hashlib.scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1)
    return f"$scrypt${salt.hex()}${digest.hex()}"
