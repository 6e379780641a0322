from pathlib import Path

import pytest

from scripts.mutants import reach
from scripts.mutants.listed import MutantError
from scripts.mutants.reach import ReachMap, Visit, batches

MAP = ReachMap(
    "c0ffee",
    ("core-01", "core-02"),
    {
        "tests/test_slow.py::test_all": Visit(9.0, "passed", ("core-01", "core-02")),
        "tests/test_quick.py::test_one": Visit(0.1, "passed", ("core-01",)),
        "tests/test_quick.py::test_broken": Visit(0.1, "failed", ("core-01",)),
        "tests/test_quick.py::test_elsewhere": Visit(0.1, "passed", ()),
    },
)


def test_the_quickest_tests_come_first_and_those_that_fail_anyway_do_not() -> None:
    assert MAP.reaching("core-01") == ["tests/test_quick.py::test_one", "tests/test_slow.py::test_all"]
    assert MAP.reaching("core-02") == ["tests/test_slow.py::test_all"]


def test_files_that_changed_are_left_out() -> None:
    assert list(MAP.without(["tests/test_quick.py"]).tests) == ["tests/test_slow.py::test_all"]


def test_a_map_is_read_as_it_was_saved(tmp_path: Path) -> None:
    MAP.save(tmp_path / "map.json")

    assert reach.load(tmp_path / "map.json") == MAP


def test_another_file_is_no_map(tmp_path: Path) -> None:
    (tmp_path / "map.json").write_text("[]")

    with pytest.raises(MutantError, match="no map"):
        reach.load(tmp_path / "map.json")


def test_batches_grow_and_keep_the_order() -> None:
    seconds = dict.fromkeys("abcdefgh", 1.0)

    assert batches("abcdefgh", seconds, first=1, growth=3) == [["a"], ["b", "c", "d"], ["e", "f", "g", "h"]]


def test_a_test_that_takes_longer_than_a_batch_is_a_batch() -> None:
    assert batches("ab", {"a": 50.0, "b": 0.5}, first=1, growth=2) == [["a"], ["b"]]
