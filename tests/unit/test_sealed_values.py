"""The stored form of secrets stays the same: releases read each other's values."""

import base64
import hmac
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from baremetal_sched.db.sealing import SealedJson, SealedText, SecretText, attach, keyring_for, sealed_again
from baremetal_sched.settings import load

#: Keys of this test, by their ids.
KEYS = {
    "325a2ff3": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    "c12abd4f": "Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=",
}
LOGIN = {"ipmi_username": "admin", "ipmi_password": "s3cret ü"}
MASKED = '{"ipmi_username":"admin","ipmi_password":"******"}'

#: The type of a column, a value, and what release 0.1.0 stored of it.
RECORDED: list[tuple[TypeDecorator[Any], Any, str]] = [
    (
        SealedJson(),
        LOGIN,
        "~325a2ff3~gAAAAABrCqCQPaOwRMhm-_8IdAqUfRWoSqj--me2lhwdM3QQvaxsn81tgZjUAvwV5jSrrphWQUS_P6oyI_gYJsRW2P5G-3bsSMab"
        f"chsxHQC0CPBy0UVit4p-qubvSQEsSgPIPWoSviDwAbLCDeoHyrUMCn9Av-GpUQ==~{MASKED}",
    ),
    (
        SealedJson(whole=True),
        {"a": [1, None, True]},
        "~325a2ff3~gAAAAABrCqCQy0rNchd4EflcHs_jxIt1oApw2Brb0qacdXSzYwJVHIfnJP-EIiugCCBf5JlOe2d8QHX4ksOtqNQg3xtvGSyhyBy4"
        "RHRDNBbpDsubiBhUgEI=~{}",
    ),
    (
        SealedText(),
        SecretText("bios"),
        "~c12abd4f~gAAAAABrCqCQWoPrNQDLvFGFO3np4BnZauRNlbXXThkF2bpZgZqu5sSknhQr2rLyhAjktCgfI0zKYnKP8joi8XsznCkS_EBc5Q=="
        "~",
    ),
]


def connected(tmp_path: Path, *key_ids: str) -> Dialect:
    """A database whose key file has these keys."""
    file = tmp_path / "-".join(key_ids)
    file.touch(mode=0o600)
    file.write_text("\n".join(KEYS[key_id] for key_id in key_ids))
    dialect = sqlite.dialect()
    database = {"connection": "sqlite://", "secrets_key_file": str(file)}
    attach(dialect, load(overrides={"database": database}))
    return dialect


def decoded(stored: str) -> tuple[str, str, str]:
    """The parts of a stored value: the id of its key, the text (by the specification of Fernet), and what is shown."""
    mark, key_id, token, shown = stored.split("~", 3)
    key, raw = base64.b64decode(KEYS[key_id]), base64.urlsafe_b64decode(token)
    signed, signature = raw[:-32], raw[-32:]
    assert (mark, signed[:1]) == ("", b"\x80")
    assert hmac.compare_digest(hmac.digest(key[:16], signed, "sha256"), signature)
    decryptor = Cipher(algorithms.AES(key[16:]), modes.CBC(signed[9:25])).decryptor()
    unpadder = PKCS7(128).unpadder()
    padded = decryptor.update(signed[25:]) + decryptor.finalize()
    return key_id, (unpadder.update(padded) + unpadder.finalize()).decode(), shown


def test_values_of_the_release_before_are_read(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for key_ids in (KEYS, reversed(KEYS)):
        dialect = connected(tmp_path, *key_ids)
        for column, value, stored in RECORDED:
            with subtests.test(stored=stored[:9]):
                assert column.process_result_value(stored, dialect) == value


def test_the_release_before_reads_what_is_stored_now(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for first, second in (tuple(KEYS), tuple(reversed(KEYS))):
        dialect = connected(tmp_path, first, second)
        for column, value, before in RECORDED:
            with subtests.test(first=first, value=value):
                stored = column.process_bind_param(value, dialect)
                assert stored is not None
                key_id, text, shown = decoded(stored)
                assert (key_id, shown) == (first, decoded(before)[2])
                assert text == decoded(before)[1]


def test_what_the_release_before_stored_gets_the_first_key(tmp_path: Path) -> None:
    keyring = keyring_for(connected(tmp_path, "c12abd4f", "325a2ff3"))
    for _, _, stored in RECORDED:
        _, text, shown = decoded(stored)
        assert decoded(sealed_again(stored, keyring)) == ("c12abd4f", text, shown)
