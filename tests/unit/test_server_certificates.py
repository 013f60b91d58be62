"""Certificates that TLS can use, and others."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from baremetal_sched.server.tls import UnusableCertificate, doubts_about, is_self_signed, load_first, make_context
from tests.certificates import Certificate, make_certificate


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """A certificate and its key."""
    return make_certificate(tmp_path_factory.mktemp("tls"))


def test_certificates_that_can_be_used(files: Certificate) -> None:
    assert make_context(str(files.certificate), str(files.key)).minimum_version == ssl.TLSVersion.TLSv1_2
    certificate = load_first(str(files.certificate))
    assert is_self_signed(certificate)
    assert doubts_about(certificate) is None


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory, files: Certificate) -> dict[str, tuple[Path, Path]]:
    """Pairs of files that cannot be used."""
    folder = tmp_path_factory.mktemp("wrong")
    other = make_certificate(folder, "other")
    protected = make_certificate(folder, "protected", passphrase=b"secret")
    (folder / "text").write_text("hello")
    (folder / "damaged").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    return {
        "another key": (files.certificate, other.key),
        "no file": (folder / "nothing", files.key),
        "no key file": (files.certificate, folder / "nothing"),
        "a folder": (folder, files.key),
        "a passphrase": (protected.certificate, protected.key),
        "text": (folder / "text", files.key),
        "a damaged certificate": (folder / "damaged", files.key),
        "text for a key": (files.certificate, folder / "text"),
        "the wrong way round": (files.key, files.certificate),
    }


def test_certificates_that_cannot_be_used(subtests: pytest.Subtests, wrong: dict[str, tuple[Path, Path]]) -> None:
    for case, words in [
        ("another key", "the key in .*other.key does not belong to the certificate in .*server.pem"),
        ("no file", "nothing cannot be read .No such file or directory"),
        ("no key file", "nothing cannot be read .No such file or directory"),
        ("a folder", "cannot be read .Is a directory"),
        ("a passphrase", "the key in .*protected.key is protected by a passphrase"),
        ("text", "text has no certificate in PEM"),
        ("a damaged certificate", "damaged has no certificate in PEM"),
        ("text for a key", "text has no private key in PEM"),
        ("the wrong way round", "server.key has no certificate in PEM"),
    ]:
        with subtests.test(case=case):
            certificate, key = wrong[case]
            with pytest.raises(UnusableCertificate, match=words) as refused:
                make_context(str(certificate), str(key))
            assert "\n" not in str(refused.value)


def test_dates_of_certificates(tmp_path: Path) -> None:
    past = load_first(str(make_certificate(tmp_path, "past", days=(-9, -2)).certificate))
    future = load_first(str(make_certificate(tmp_path, "future", days=(2, 9)).certificate))
    assert str(doubts_about(past)).startswith("it was valid until ")
    assert str(doubts_about(future)).startswith("it is valid from ")
    assert doubts_about(past, datetime.now(UTC) - timedelta(days=5)) is None
