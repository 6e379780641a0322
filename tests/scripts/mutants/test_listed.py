import ast
import json
from pathlib import Path

import pytest

from scripts.mutants import results
from scripts.mutants.listed import LIST, Mutant, MutantError, load
from scripts.mutants.results import KILLED
from scripts.mutants.scratch import REPOSITORY

MUTANT = Mutant("core-01", "src/kaa/core/loop.py", 3, "if left < 1:", "if left <= 1:", "it ends too early")

TEXT = """\
def last(left: int) -> bool:
    while True:
        if left < 1:
            return True
"""


def test_the_fault_replaces_the_line_and_keeps_its_indentation() -> None:
    assert MUTANT.apply(TEXT) == TEXT.replace("        if left < 1:", "        if left <= 1:")


def test_a_line_is_found_where_it_has_moved_to() -> None:
    moved = f"import os\n\n\n{TEXT}"

    assert MUTANT.apply(moved) == moved.replace("<", "<=")


def test_a_line_that_is_gone_is_an_error_with_the_place_to_correct() -> None:
    with pytest.raises(MutantError, match=r"core-01.*'if left < 1:'.*loop\.py \(once line 3\) is gone.*list\.json"):
        MUTANT.apply(TEXT.replace("left", "rest"))


def test_a_line_that_occurs_twice_is_an_error() -> None:
    with pytest.raises(MutantError, match="occurs 2 times"):
        MUTANT.apply(TEXT + TEXT)


def test_names_must_be_different(tmp_path: Path) -> None:
    mutant = {name: getattr(MUTANT, name) for name in MUTANT.__struct_fields__}
    path = tmp_path / "list.json"
    path.write_text(json.dumps([mutant, mutant]))

    with pytest.raises(MutantError, match="two mutants of one name"):
        load(path)


@pytest.mark.parametrize("mutant", load(), ids=lambda mutant: mutant.name)
def test_each_mutant_of_the_list_is_a_valid_change_of_the_sources(mutant: Mutant) -> None:
    text = (REPOSITORY / mutant.file).read_text("utf-8")

    changed = mutant.apply(text)

    assert changed != text
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))


def test_the_list_has_sixty_mutants_and_each_is_known_to_be_noticed() -> None:
    mutants = load(LIST)

    assert len(mutants) == 60
    assert {mutant.name for mutant in mutants} == set(results.load(KILLED).mutants)
