"""A recipe as data: what a page for contributors says to write, to change and to run.

A code block whose caption is a path is that file, which is new. A block in the language ``diff`` changes the file: the
lines that do not begin with ``+`` are there, exactly once; ``@@`` separates places. Blocks of ``sh`` are run.
``NUMBER`` stands for the next migration, ``PREVIOUS`` for the newest one.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "api-ref" / "contributing"

_BLOCK = re.compile(r"^\.\. code-block:: (\w+)\n(?:   :caption: (\S+)\n)?\n((?:   .*\n|\n)+)", re.MULTILINE)
_BEGINS = re.compile(r"begins\s+where\s+:doc:`(\w+)` ends")


@dataclass(frozen=True)
class Block:
    """A block of code, with its language and the path that its caption names."""

    language: str
    path: str | None
    text: str


@dataclass(frozen=True)
class Change:
    """The change that a page makes to one file: None instead of ``old`` if it is new."""

    path: str
    old: str | None
    new: str

    def apply(self, text: str | None) -> str:
        """Return the file as it is afterwards; None: it was not there."""
        if self.old is None:
            assert text is None, f"{self.path} is there already"
            return self.new
        assert text is not None, f"{self.path} is not there"
        assert text.count(self.old) == 1, f"{self.path} has {text.count(self.old)} times:\n{self.old}"
        return text.replace(self.old, self.new)


def blocks(page: str) -> list[Block]:
    """Return the blocks of code of a page."""
    newest = max(path.name for path in (ROOT / "migrations" / "versions").glob("[0-9]*.py"))[:4]
    text = (PAGES / f"{page}.rst").read_text().replace("PREVIOUS", newest).replace("NUMBER", f"{int(newest) + 1:04}")
    found = _BLOCK.findall(text)
    return [Block(language, path or None, dedent(text).strip("\n") + "\n") for language, path, text in found]


def pages_of(page: str) -> list[str]:
    """Return the page with the pages before it, at whose end it begins."""
    before = _BEGINS.search((PAGES / f"{page}.rst").read_text())
    return [*(pages_of(before[1]) if before else []), page]


def changes(page: str) -> list[Change]:
    """Return what a recipe changes, with what the pages before it change."""
    found = []
    for block in (block for each in pages_of(page) for block in blocks(each)):
        if block.path is None:
            continue
        if block.language != "diff":
            found.append(Change(block.path, None, block.text))
            continue
        for place in block.text.split("@@\n"):
            lines = place.splitlines(keepends=True)
            old, new = ("".join(line[1:] or line for line in lines if line[0] in kept) for kept in ("\n -", "\n +"))
            found.append(Change(block.path, old, new))
    return found


def commands(page: str) -> list[str]:
    """Return what a recipe says to run, a line each."""
    return [
        line for block in blocks(page) if block.language == "sh" for line in block.text.replace("\\\n", "").splitlines()
    ]
