"""Numbers of tests by folder, and whether one has gone."""

from tests.counts import by_folder, differences


def test_a_folder_has_its_tests_and_rows_down_to_the_third_level() -> None:
    names = {
        "tests/unit/test_a.py::test_a": 1,
        "tests/unit/test_a.py::test_b[a/b::c]": 2,
        "tests/functional/ui/find/test_c.py::test_a": 1,
        "tests/fault/test_d.py::test_a": 0,
    }
    assert by_folder(names) == {"tests/unit": 3, "tests/functional/ui": 1}
    assert by_folder(names, " (rows)")["tests/unit (rows)"] == 3


def test_a_test_that_has_gone_is_said() -> None:
    assert differences({"a": 2, "b": 1}, {"a": 2, "b": 1}) == []
    assert differences({"a": 2, "b": 1}, {"a": 1, "c": 3}) == [
        "a: 1 instead of 2",
        "b: 0 instead of 1",
    ]
