"""The file of keys: refusals, and that no message repeats a key."""

import os
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from oslo_config import cfg

from baremetal_sched.db.keyring import CannotDecrypt, Keyring, generate_key

KEY, OTHER = generate_key(), generate_key()


def write(path: Path, text: str | bytes, mode: int = 0o600) -> Keyring:
    path.touch(mode=0o600)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    return Keyring(str(path))


def test_the_first_key_encrypts_and_all_decrypt(tmp_path: Path) -> None:
    old = write(tmp_path / "old", KEY)
    both = write(tmp_path / "both", f"# the new one\n{OTHER}\r\n\n  {KEY}  \n")
    assert both.decrypt(*old.encrypt("secret")) == "secret"
    assert (both.first, both.ids) == (both.encrypt("x")[0], (both.first, old.first))
    with pytest.raises(CannotDecrypt, match="which is not in the"):
        old.decrypt(*both.encrypt("secret"))
    assert len(Fernet(OTHER).decrypt(both.encrypt("secret")[1])) == 6


def test_without_a_file_there_is_no_key() -> None:
    keyring = Keyring("")
    assert (keyring.first, keyring.ids) == (None, ())
    with pytest.raises(CannotDecrypt, match="secrets_key_file is not set here"):
        keyring.decrypt("00000000", "x")


def test_files_that_are_refused(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for text, said in [
        ("", "it has no key"),
        ("# nothing\n\n", "it has no key"),
        (f"{KEY}\n{OTHER[:-2]}", "line 2 is not a Fernet key"),
        (f"{KEY}{KEY}", "line 1 is not a Fernet key"),
        # Python's decoder would skip what is not base64.
        (f"{KEY}\n{OTHER[:5]}!{OTHER[5:]}", "line 2 is not a Fernet key"),
        (f"{KEY}\n\n{KEY}", "line 3 is the key of line 1 again"),
        (f"key={KEY}", "line 1 is not a Fernet key"),
        (b"\xff\xfe" + KEY.encode(), "it is not UTF-8"),
        (b"\0" * 100_000, "larger than"),
    ]:
        with subtests.test(text=text):
            with pytest.raises(cfg.Error) as refused:
                write(tmp_path / "keys", text)
            assert said in str(refused.value)
            assert "[database] secrets_key_file" in str(refused.value)
            for key in (KEY, OTHER):
                assert key[:8] not in str(refused.value)


def test_the_same_key_in_another_spelling_is_found(tmp_path: Path) -> None:
    """The last character has bits that count for nothing."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    spelt = KEY[:-2] + alphabet[alphabet.index(KEY[-2]) ^ 1] + "="
    with pytest.raises(cfg.Error, match="again"):
        write(tmp_path / "keys", f"{KEY}\n{spelt}")


def test_a_file_that_others_can_read_is_refused(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for mode in [0o644, 0o604, 0o660, 0o602, 0o777]:
        with subtests.test(mode=mode), pytest.raises(cfg.Error, match="chmod 600"):
            write(tmp_path / f"{mode:o}", KEY, mode)


def test_a_group_may_read_it(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for mode in [0o600, 0o400, 0o640, 0o440]:
        with subtests.test(mode=mode):
            assert write(tmp_path / f"{mode:o}", KEY, mode).ids


def test_a_file_that_is_not_there_or_none(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(cfg.Error, match="cannot be used"):
            Keyring(str(path))


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    """One that is not valid, or gone, is not: the keys of before stay."""
    path = tmp_path / "keys"
    keyring = write(path, KEY)
    first = keyring.ids
    write(path, f"{OTHER}\n{KEY}")
    both = keyring.ids
    assert both[1:] == first
    path.write_text("garbage")
    assert keyring.ids == both
    path.unlink()
    assert keyring.ids == both
    write(path, KEY)
    assert keyring.ids == first


def test_a_missing_key_is_looked_for_at_once(tmp_path: Path) -> None:
    keyring = write(tmp_path / "keys", KEY)
    sealed = write(tmp_path / "other", OTHER).encrypt("secret")
    with pytest.raises(CannotDecrypt):
        keyring.decrypt(*sealed)
    write(tmp_path / "new", f"{KEY}\n{OTHER}")
    os.replace(tmp_path / "new", tmp_path / "keys")  # noqa: PTH105 - what tools do
    assert keyring.decrypt(*sealed) == "secret"


def test_garbage_is_said_to_be_garbage(subtests: pytest.Subtests, tmp_path: Path) -> None:
    keyring = write(tmp_path / "keys", KEY)
    for ciphertext in ["", "x", "gAAAA", "é", "=" * 1000, "gAAAAAB" + "A" * 100]:
        with subtests.test(ciphertext=ciphertext), pytest.raises(CannotDecrypt, match="was changed"):
            keyring.decrypt(keyring.ids[0], ciphertext)
