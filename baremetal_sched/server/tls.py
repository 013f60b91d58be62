"""TLS: loading of certificates, and a non-blocking encrypted socket."""

import errno
import os
import socket
import ssl
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from cryptography import x509

from baremetal_sched.errors import InvalidError

#: Size of the portions that are encrypted and sent. If the client does not read, at most this much is held twice.
_PORTION = 64 * 1024
_RECORD = 16 * 1024


class UnusableCertificate(InvalidError):
    """The files of the certificate and its key are missing, damaged, or do not belong together."""

    template = "TLS is not possible: {reason}."


def make_context(certificate: str, key: str) -> ssl.SSLContext:
    """Return the context of connections: TLS 1.2 and newer, HTTP/1.1, no renegotiation.

    ``certificate`` is a PEM file of the server's certificate, followed by the chain up to its authority. Raises
    UnusableCertificate.
    """
    load_first(certificate)
    _require_readable(key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.set_alpn_protocols(["http/1.1"])

    def encrypted() -> NoReturn:
        raise UnusableCertificate(reason=f"the key in {key} is protected by a passphrase")

    try:
        context.load_cert_chain(certificate, key, password=encrypted)
    except ssl.SSLError as error:
        if error.reason in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH"):
            reason = f"the key in {key} does not belong to the certificate in {certificate}"
        elif error.reason is None or "PEM" in str(error):
            reason = f"{key} has no private key in PEM, or {certificate} a damaged certificate"
        else:
            reason = f"{certificate} and {key} cannot be used ({error.reason.lower().replace('_', ' ')})"
        raise UnusableCertificate(reason=reason) from None
    return context


def load_first(path: str) -> x509.Certificate:
    """Return the server's certificate, which is the first in the file. Raises UnusableCertificate."""
    _require_readable(path)
    try:
        return x509.load_pem_x509_certificate(Path(path).read_bytes())
    except (ValueError, x509.InvalidVersion):
        raise UnusableCertificate(reason=f"{path} has no certificate in PEM") from None


def doubts_about(certificate: x509.Certificate, now: datetime | None = None) -> str | None:
    """Return the reason why clients will refuse the certificate because of its dates; None if they will not."""
    now = now or datetime.now(UTC)
    if now < certificate.not_valid_before_utc:
        return f"it is valid from {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
    if now > certificate.not_valid_after_utc:
        return f"it was valid until {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
    return None


def is_self_signed(certificate: x509.Certificate) -> bool:
    """Return whether clients need the certificate itself, as no authority has signed it."""
    return certificate.issuer == certificate.subject


def _require_readable(path: str) -> None:
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise UnusableCertificate(reason=f"{path} cannot be read ({os.strerror(error.errno or 0)})") from None


class HandshakeFailed(ConnectionError):
    """The client does not speak TLS, or no common version and cipher exists."""

    def __init__(self, reason: str, is_plain_http: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        #: Whether the client sent a request without TLS.
        self.is_plain_http = is_plain_http


class TlsSocket:
    """A non-blocking socket with TLS, with the methods that connections use. Threads may send while the loop receives.

    Encrypted data that could not be sent yet is kept here: ``has_unsent``. ``send`` accepts nothing until it is sent,
    so it is at most one portion, and replies to what the client sends (handshakes, new keys).
    """

    def __init__(self, sock: socket.socket, context: ssl.SSLContext) -> None:
        self._socket = sock
        self._context = context
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        # OpenSSL's objects are not thread-safe.
        self._lock = threading.Lock()
        self._tls: ssl.SSLObject | None = None  # created at the first data: silent clients cost nothing
        self._unsent = b""
        self._is_finished = False
        #: Whether the handshake is complete.
        self.is_established = False

    @property
    def has_unsent(self) -> bool:
        """Return whether encrypted data waits until the client reads."""
        return bool(self._unsent or self._outgoing.pending)

    # -- what connections call on any socket --------------------------------------------------------------------------

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._socket.fileno()

    def setblocking(self, flag: bool) -> None:
        """Called with False."""
        self._socket.setblocking(flag)

    def getsockopt(self, level: int, option: int) -> int:
        """Return an option of the socket below."""
        return self._socket.getsockopt(level, option)

    def close(self) -> None:
        """Close the socket below; ``finish`` is the orderly end."""
        self._socket.close()

    def recv(self, size: int) -> bytes:
        """Return what the client sent; empty at its end. After ``finish`` it is not decrypted, only to be discarded.

        Raises BlockingIOError if there is nothing yet, HandshakeFailed, or another ConnectionError.
        """
        if self._is_finished:
            return self._socket.recv(size)
        try:
            received = self._socket.recv(size)
            if not received:
                return b""
        except BlockingIOError:
            received = b""
        with self._lock:
            self._incoming.write(received)
            try:
                data = self._decrypt()
            finally:
                self._flush()
        if data is None:
            raise BlockingIOError(errno.EWOULDBLOCK, "no complete record")
        return data

    def send(self, data: bytes) -> int:
        """Send from the beginning of ``data``; return how many bytes were accepted.

        Raises BlockingIOError if there were none, or a ConnectionError.
        """
        taken = 0
        with memoryview(data) as view:
            while taken < len(view) and self._send_portion(view[taken : taken + _PORTION]):
                taken += min(_PORTION, len(view) - taken)
        if not taken:
            raise BlockingIOError(errno.EWOULDBLOCK, "the client has to read first")
        return taken

    # -- TLS ----------------------------------------------------------------------------------------------------------

    def flush(self) -> bool:
        """Send the waiting data; return whether all is sent. Raises ConnectionError."""
        with self._lock:
            return self._flush()

    def finish(self) -> None:
        """Announce the end to the client; to be flushed. Nothing can be sent after it."""
        with self._lock:
            if self._is_finished:
                return
            self._is_finished = True
            if self._tls is not None and self.is_established:
                with suppress(ssl.SSLError):  # it would wait for the client's announcement
                    self._tls.unwrap()

    def shutdown(self, how: int) -> None:
        """Shut the socket below; ``finish`` comes first."""
        self._socket.shutdown(how)

    def refuse_plainly(self, answer: bytes) -> None:
        """Answer without TLS, to a client that does not speak it."""
        with self._lock:
            self._is_finished = True
            self._outgoing.read()
            self._unsent = answer
            self._flush()

    def _decrypt(self) -> bytes | None:
        """Return what the client sent; None if no record is complete."""
        if self._tls is None:
            if not self._incoming.pending:
                return None
            self._tls = self._context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        try:
            if not self.is_established:
                self._tls.do_handshake()
                self.is_established = True
            return self._read_all(self._tls)
        except ssl.SSLWantReadError:
            return None
        except ssl.SSLError as error:
            reason = (error.reason or "the client ended it").lower().replace("_", " ")
            if self.is_established:
                raise ConnectionResetError(errno.ECONNRESET, reason) from None
            raise HandshakeFailed(reason, error.reason == "HTTP_REQUEST") from None

    @staticmethod
    def _read_all(tls: ssl.SSLObject) -> bytes | None:
        parts = []
        try:
            while part := tls.read(_RECORD):
                parts.append(part)
        except ssl.SSLWantReadError:
            return b"".join(parts) or None
        return b"".join(parts)  # the client has announced the end

    def _send_portion(self, data: memoryview) -> bool:
        with self._lock:
            if self._is_finished or self._tls is None or not self._flush():
                return False
            try:
                self._tls.write(data)
            except ssl.SSLError as error:
                raise ConnectionResetError(errno.ECONNRESET, str(error.reason)) from None
            self._flush()
            return True

    def _flush(self) -> bool:
        self._unsent += self._outgoing.read()
        while self._unsent:
            try:
                sent = self._socket.send(self._unsent)
            except BlockingIOError:
                return False
            self._unsent = self._unsent[sent:]
        return True
