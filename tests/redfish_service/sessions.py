"""Sessions: few, and they expire."""

import secrets
import time


class Sessions:
    """``most`` at once; each is gone ``seconds`` after it was used last. ``opened`` is how many there ever were."""

    def __init__(self) -> None:
        self.most = 8
        self.seconds = 1800.0
        self.opened = 0
        self._tokens: dict[str, str] = {}
        self._used: dict[str, float] = {}

    @property
    def ids(self) -> list[str]:
        """The open sessions."""
        self._forget_old()
        return sorted(self._tokens.values())

    def open(self) -> tuple[str, str] | None:
        """A new session, its id and token; None if there are too many."""
        if len(self.ids) >= self.most:
            return None
        self.opened += 1
        token = secrets.token_hex(16)
        self._tokens[token], self._used[token] = str(self.opened), time.monotonic()
        return str(self.opened), token

    def use(self, token: str) -> bool:
        """Is that the token of an open session?"""
        self._forget_old()
        if token not in self._tokens:
            return False
        self._used[token] = time.monotonic()
        return True

    def close(self, session_id: str) -> bool:
        """End a session; False if there is none."""
        tokens = [token for token, known in self._tokens.items() if known == session_id]
        for token in tokens:
            del self._tokens[token], self._used[token]
        return bool(tokens)

    def close_all(self) -> None:
        """End all sessions, as a restart of the controller does."""
        self._tokens.clear()
        self._used.clear()

    def _forget_old(self) -> None:
        oldest = time.monotonic() - self.seconds
        for token in [token for token, used in self._used.items() if used < oldest]:
            del self._tokens[token], self._used[token]
