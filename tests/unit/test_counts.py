"""Numbers of tests by file, and whether one has gone."""

from tests.counts import by_file, differences


def test_a_file_has_its_tests_and_rows() -> None:
    rows = {"tests/unit/test_a.py::test_a": 0, "tests/unit/test_a.py::test_b[a/b::c]": 2, "tests/test_c.py::test_a": 0}
    assert by_file(rows) == {"tests/unit/test_a.py": 4, "tests/test_c.py": 1}


def test_a_test_that_has_gone_is_said() -> None:
    assert differences({"a": 2, "b": 1}, {"a": 2, "b": 1}) == []
    assert differences({"a": 2, "b": 1}, {"a": 1, "c": 3}) == [
        "a: 1 instead of 2",
        "b: 0 instead of 1",
    ]
