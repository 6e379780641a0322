import ast
import json

import pytest

from benchmarks.edits import EditedFile, json_file, python_file

EDITS = 20


@pytest.mark.parametrize("file", [python_file(), json_file()], ids=lambda file: file.name)
def test_each_edit_fits_one_place_and_keeps_the_file_valid(file: EditedFile) -> None:
    text = file.text
    for number in range(EDITS):
        edit = file.edit(number)
        assert text.count(edit["oldText"]) == 1
        text = text.replace(edit["oldText"], edit["newText"])

    assert text == file.after(EDITS) != file.text
    parse = json.loads if file.name.endswith(".json") else ast.parse
    assert parse(text)
