"""TLS: loading of certificates, and a non-blocking encrypted socket."""

import errno
import os
import socket
import ssl
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from baremetal_sched.errors import InvalidError

if TYPE_CHECKING:
    from cryptography import x509

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
    context.sslsocket_class = TlsSocket

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


def load_first(path: str) -> "x509.Certificate":
    """Return the server's certificate, which is the first in the file. Raises UnusableCertificate."""
    from cryptography import x509  # eight megabytes, which clear text does not need

    _require_readable(path)
    try:
        return x509.load_pem_x509_certificate(Path(path).read_bytes())
    except (ValueError, x509.InvalidVersion):
        raise UnusableCertificate(reason=f"{path} has no certificate in PEM") from None


def doubts_about(certificate: "x509.Certificate", now: datetime | None = None) -> str | None:
    """Return the reason why clients will refuse the certificate because of its dates; None if they will not."""
    now = now or datetime.now(UTC)
    if now < certificate.not_valid_before_utc:
        return f"it is valid from {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
    if now > certificate.not_valid_after_utc:
        return f"it was valid until {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
    return None


def is_self_signed(certificate: "x509.Certificate") -> bool:
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


class TlsSocket(ssl.SSLSocket):
    """A non-blocking socket with TLS. Threads may send while the loop receives.

    Data that is not sent at once must be sent again from its beginning, because OpenSSL has encrypted some of it
    already.
    """

    #: OpenSSL's objects are not thread-safe, and a closed descriptor may become that of another connection. ``wrap``
    #: gives each socket a lock of its own.
    lock = threading.Lock()
    #: Whether the handshake is complete.
    is_established = False
    #: Whether a handshake, or the announcement of the end, waits until the client reads.
    has_unsent = False
    _is_finished = False

    def recv(self, buflen: int = _RECORD, flags: int = 0) -> bytes:
        """Return what the client sent, up to a record of 16 KiB; empty at its end. After ``shutdown`` it is not
        decrypted, only to be discarded.

        Raises BlockingIOError if there is nothing yet, HandshakeFailed, or another ConnectionError.
        """
        if self._is_finished:
            return socket.socket.recv(self, buflen)
        with self.lock:
            try:
                if not self.is_established:
                    self._shake_hands()
                return super().recv(buflen)
            except ssl.SSLEOFError:
                return b""
            except ssl.SSLWantReadError:
                raise BlockingIOError(errno.EWOULDBLOCK, "no complete record") from None
            except ssl.SSLError as error:
                raise ConnectionResetError(errno.ECONNRESET, str(error.reason)) from None

    def _shake_hands(self) -> None:
        self.has_unsent = False
        try:
            self.do_handshake()
        except ssl.SSLWantWriteError:
            self.has_unsent = True
            raise BlockingIOError(errno.EWOULDBLOCK, "the client must read first") from None
        except (ssl.SSLWantReadError, ssl.SSLEOFError):
            raise
        except ssl.SSLError as error:
            reason = (error.reason or "the client ended it").lower().replace("_", " ")
            raise HandshakeFailed(reason, error.reason == "HTTP_REQUEST") from None
        self.is_established = True

    def send(self, data: Any, flags: int = 0) -> int:
        """Send from the beginning of ``data``; return how many bytes were accepted.

        Raises BlockingIOError if there were none, or a ConnectionError.
        """
        taken = 0
        with self.lock, memoryview(data) as view:
            if self._is_finished:  # it would be sent as it is
                raise BrokenPipeError(errno.EPIPE, "the end is announced")
            try:
                while taken < len(view):
                    taken += super().send(view[taken:])
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                if not taken:
                    raise BlockingIOError(errno.EWOULDBLOCK, "the client must read first") from None
            except ssl.SSLError as error:
                raise ConnectionResetError(errno.ECONNRESET, str(error.reason)) from None
        return taken

    def finish(self) -> bool:
        """Announce the end to the client, once all is sent. Return whether that is done; if not, try it again."""
        with self.lock:
            self.has_unsent = False
            if self.is_established and not self._is_finished:
                try:
                    self.unwrap()
                except ssl.SSLWantWriteError:
                    self.has_unsent = True
                    return False
                except OSError:  # it would wait for the client's announcement, or the client has disconnected
                    pass
            self._is_finished = True
            return True

    def shutdown(self, how: int) -> None:
        """Shut the socket below; ``finish`` comes first."""
        self._is_finished = True
        super().shutdown(how)

    def close(self) -> None:
        """Close the socket; ``finish`` is the orderly end."""
        with self.lock:
            super().close()

    def refuse_plainly(self, answer: bytes) -> None:
        """Answer without TLS, to a client that does not speak it."""
        socket.socket.send(self, answer)


def wrap(sock: socket.socket, context: ssl.SSLContext) -> TlsSocket:
    """Return a connected socket with TLS, by a context of ``make_context``. The handshake is done when receiving."""
    wrapped = cast(TlsSocket, context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False))
    wrapped.lock = threading.Lock()
    return wrapped
