"""What a client probably meant by a word that is not known."""

from collections.abc import Iterable
from difflib import get_close_matches

#: A longer word is not compared: that takes time, and nothing is like it.
_LONGEST = 80


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a sentence, with a blank before it, that proposes the one of ``known`` that is most like ``word``.

    Return the empty string if none is.
    """
    close = get_close_matches(word.lower(), [*known], n=1) if len(word) <= _LONGEST else []
    return f" Did you mean '{close[0]}'?" if close else ""
