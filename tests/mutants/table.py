"""All mutants, as the ``*.diff`` files beside this one have them.

An entry is ``name: tests``, with the dialect of its server in brackets after the name if it needs one; then the file
below the package; then, after ``-``, the lines of its text, and after ``+`` the lines that replace them.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.mutants.mutant import Mutant

_HEAD = re.compile(r"(?P<name>[\w-]+)(?: \((?P<server>\w+)\))?: (?P<tests>.+)")


def _entries(text: str) -> Iterator[Mutant]:
    for head, file, *lines in (entry.splitlines() for entry in text.split("\n\n") if not entry.startswith("#")):
        if not (named := _HEAD.fullmatch(head)):
            raise ValueError(f"{head!r} is not 'name: tests' or 'name (dialect): tests'")
        removed, added = ("\n".join(each[1:] for each in lines if each[0] == sign) for sign in "-+")
        yield Mutant(named["name"], file, removed, added, named["tests"], named["server"])


_FILES = sorted(Path(__file__).parent.glob("*.diff"))
MUTANTS = tuple(mutant for file in _FILES for mutant in _entries(file.read_text()))
