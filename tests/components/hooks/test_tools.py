"""Calls of kaa's tools in the words of other agents, and back."""

from typing import Any

import pytest

from kaa.components.hooks import HookDialect
from kaa.components.hooks.tools import foreign_calls, own_arguments, response_of
from tests.support.tables import each

_EDITS = {"path": "a.py", "edits": [{"oldText": "1", "newText": "2"}, {"oldText": "3", "newText": "4"}]}


@each("dialect", ["claude", "codex", "gemini"])
@each(
    ("name", "arguments"),
    [
        ("bash", {"command": "ls", "timeout": 5}),
        ("bash", {"command": "ls", "background": True}),
        ("read", {"path": "a.py", "offset": 3, "limit": 10}),
        ("write", {"path": "~/a.py", "content": "x\n"}),
        ("edit", _EDITS),
        ("grep", {"pattern": "x", "path": "src", "glob": "*.py"}),
        ("find", {"pattern": "*.py", "path": "."}),
        ("ls", {"path": "src"}),
        ("mcp__a__b", {"x": 1}),
    ],
)
def test_an_input_that_comes_back_unchanged_changes_nothing(
    name: str, arguments: dict[str, Any], dialect: HookDialect
) -> None:
    for index, call in enumerate(foreign_calls(name, arguments, dialect, "/p")):
        assert own_arguments(name, arguments, call.input, dialect, "/p", index) == (
            arguments if not (dialect == "gemini" and "timeout" in arguments) else {"command": "ls"}
        )


def test_hooks_for_a_tool_of_a_server_are_also_for_the_name_that_a_hash_tells_apart() -> None:
    (call,) = foreign_calls("mcp__a__b_0123ab", {}, "claude", "/p")

    assert call.names == ("mcp__a__b_0123ab", "mcp__a__b")


def test_claude_sees_each_edit_with_an_absolute_path() -> None:
    first, second = foreign_calls("edit", _EDITS, "claude", "/p")

    assert first.input == {"file_path": "/p/a.py", "old_string": "1", "new_string": "2", "replace_all": False}
    assert (second.name, second.input["old_string"]) == ("Edit", "3")


def test_a_new_input_of_an_edit_changes_that_edit() -> None:
    update = {"file_path": "/p/a.py", "old_string": "3", "new_string": "5", "replace_all": False}

    changed = own_arguments("edit", _EDITS, update, "claude", "/p", 1)

    assert changed == {"path": "a.py", "edits": [_EDITS["edits"][0], {"oldText": "3", "newText": "5"}]}


@pytest.mark.parametrize(
    ("name", "dialect", "update"),
    [
        ("edit", "claude", {"file_path": "/p/a.py", "old_string": "1", "new_string": "2", "replace_all": True}),
        ("edit", "claude", {"file_path": "/p/b.py", "old_string": "1", "new_string": "2"}),
        ("edit", "codex", {"command": "*** Begin Patch\n*** Delete File: a.py\n*** End Patch\n"}),
        ("bash", "claude", {"command": "ls", "dangerouslyDisableSandbox": True}),
    ],
)
def test_what_kaas_tool_cannot_do_is_refused(name: str, dialect: HookDialect, update: dict[str, Any]) -> None:
    assert own_arguments(name, _EDITS if name == "edit" else {"command": "x"}, update, dialect, "/p") is None


def test_times_are_milliseconds_there() -> None:
    (call,) = foreign_calls("bash", {"command": "ls", "timeout": 1.5}, "claude", "/p")

    assert call.input == {"command": "ls", "timeout": 1500}


def test_codex_sees_patches() -> None:
    (call,) = foreign_calls("edit", _EDITS, "codex", "/p")

    assert call.names == ("apply_patch", "Edit", "Write")
    assert call.input["command"].splitlines()[:4] == ["*** Begin Patch", "*** Update File: a.py", "@@", "-1"]


def test_files_that_go_are_edits_for_claude_and_patches_for_codex() -> None:
    deletion = {"path": "a.py", "edits": [{"oldText": "one", "newText": ""}], "delete": True}
    move = {"path": "a.py", "edits": [], "moveTo": "b.py"}

    (edit,) = foreign_calls("edit", deletion, "claude", "/p")
    (deleted,) = foreign_calls("edit", deletion, "codex", "/p")
    (moved,) = foreign_calls("edit", move, "codex", "/p")

    assert (edit.name, edit.input["file_path"], edit.input["new_string"]) == ("Edit", "/p/a.py", "")
    assert "*** Delete File: a.py\n" in deleted.input["command"]
    assert "*** Update File: a.py\n*** Move to: b.py\n" in moved.input["command"]
    assert own_arguments("edit", deletion, edit.input, "claude", "/p") == deletion
    assert own_arguments("edit", deletion, {**edit.input, "file_path": "/p/other.py"}, "claude", "/p") is None


def test_results_have_the_fields_that_scripts_read() -> None:
    created = response_of("write", {"path": "a", "content": "x"}, "Created a.", "claude", "/p", is_error=False)

    assert (created["type"], created["filePath"], created["content"]) == ("create", "/p/a", "x")
    assert response_of("bash", {}, "out", "claude", "/p", is_error=False)["stdout"] == "out"
    assert response_of("bash", {}, "out", "gemini", "/p", is_error=True)["error"] == {"message": "out"}
