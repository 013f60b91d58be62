"""Each method in the API reference has an example, and no example is left over.

That they are true is tested in tests/functional/examples.
"""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.reference import API_REF, METHOD, MICROVERSIONS, example_name


def methods(api: str) -> Iterator[tuple[str, str, str]]:
    """Method and path of each section, with its text."""
    for page in sorted((API_REF / api).glob("*.rst")):
        text = page.read_text()
        starts = [found.start() for found in METHOD.finditer(text)]
        for start, end in pairwise([*starts, len(text)]):
            found = METHOD.match(text, start)
            assert found is not None
            yield found[1], found[2], text[start:end]


def test_every_method_has_an_example(subtests: pytest.Subtests) -> None:
    """Of the scheduling API they are shown by a directive: test_scheduling_pages.py."""
    for api in sorted({*MICROVERSIONS} - {"scheduling"}):
        with subtests.test(api=api):
            without = [
                f"{method} {path}"
                for method, path, text in methods(api)
                if text.count(f"\n.. rest_example:: {example_name(method, path)}\n") != 1
                or text.count("rest_example::") != 1
            ]
            assert without == []


def test_every_example_is_shown(subtests: pytest.Subtests) -> None:
    for api in sorted(MICROVERSIONS):
        with subtests.test(api=api):
            names = [example_name(method, path) for method, path, _ in methods(api)]
            assert len(names) == len(set(names))
            assert {path.stem for path in (API_REF / api / "examples").iterdir()} == set(names)
