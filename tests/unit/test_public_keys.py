"""Public keys: fingerprints, and pairs that are made here."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from baremetal_sched.compute import keypairs, public_keys
from baremetal_sched.errors.compute import InvalidKeypair

ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE5vHVSmuTxJ5ivDGgnJgnwnFhR9v4GSuIRFFbBVKqm9"
#: MD5 of what the base64 stands for.
FINGERPRINT = "96:ce:29:8c:db:fc:2d:7e:45:2e:cd:52:d1:8d:fa:26"


def certificate() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "me")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()


def test_fingerprint_of_a_key(subtests: pytest.Subtests) -> None:
    for text in [ED25519, f"{ED25519} me@here", f"  {ED25519} me\n"]:
        with subtests.test(text=text):
            assert public_keys.fingerprint(text, "ssh") == FINGERPRINT


def test_fingerprint_of_a_certificate() -> None:
    """SHA-1 of its DER: twenty pairs of digits."""
    pem = certificate()
    found = public_keys.fingerprint(pem, "x509")
    der = x509.load_pem_x509_certificate(pem.encode())
    assert bytes.fromhex(found.replace(":", "")) == der.fingerprint(hashes.SHA1())
    assert found.count(":") == 19


def test_what_is_not_a_public_key(subtests: pytest.Subtests) -> None:
    for text in ["", "nonsense", "ssh-ed25519", "ssh-ed25519 AAAA", ED25519[:60], "ssh-ed25519 größe"]:
        with subtests.test(text=text):
            for kind in ("ssh", "x509"):
                with pytest.raises(InvalidKeypair, match="public_key must be"):
                    public_keys.fingerprint(text, kind)


def test_generated_pairs_differ_and_fit() -> None:
    first, second = keypairs.generated("a"), keypairs.generated("a")
    assert first.public_key != second.public_key
    assert first.private_key is not None
    private = serialization.load_ssh_private_key(first.private_key.encode(), None)
    assert private.public_key() == serialization.load_ssh_public_key(first.public_key.encode())
    assert keypairs.imported("a", first.public_key).fingerprint == first.fingerprint
    with pytest.raises(InvalidKeypair, match="type x509"):
        keypairs.generated("a", "x509")
