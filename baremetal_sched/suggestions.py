"""Suggestions for unknown words."""

from collections.abc import Iterable
from difflib import get_close_matches

#: Longer words are not compared: that takes time, and nothing resembles them.
_LONGEST = 80


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a sentence, with a blank before it, that suggests the word of ``known`` most similar to ``word``,
    in whichever case. Return the empty string if no word is similar.
    """
    words = {each.lower(): each for each in known}
    close = get_close_matches(word.lower(), words, n=1) if len(word) <= _LONGEST else []
    return f" Did you mean '{words[close[0]]}'?" if close else ""
