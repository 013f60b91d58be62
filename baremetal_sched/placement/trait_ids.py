"""The traits of a provider as one text of its row: ids in order, with commas between them.

It says what the provider's rows of ``provider_traits`` say. Who tells about thousands of providers reads this instead
of ten rows more of each; who asks whether somebody has a trait asks those rows, which have an index for it. Whoever
changes them changes the text in the same transaction, with the provider locked; ``db check`` compares the two.
"""

from collections.abc import Collection


def text_of(ids: Collection[int]) -> str:
    """``3,17``; nothing for no ids."""
    return ",".join(map(str, sorted(ids)))


def texts_in(text: str) -> list[str]:
    """Each id of a text, as a text."""
    return text.split(",") if text else []


def ids_in(text: str) -> list[int]:
    """The ids of a text, in order."""
    return [int(row_id) for row_id in texts_in(text)]
