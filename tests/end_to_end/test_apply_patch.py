"""`apply_patch`, for models that were trained to write patches: what it changes, and who may keep it from that."""

from collections.abc import Iterator

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer, Received, call, say

pytestmark = pytest.mark.usefixtures("full_access")

_PATCH = """\
*** Begin Patch
*** Update File: app.py
@@ def total(items):
-    return 0
+    return sum(items)
*** Add File: docs/note.md
+# Note
*** Delete File: old.txt
*** Update File: name.py
*** Move to: lib/names.py
@@
-NAME = 1
+NAME = 2
*** End Patch"""


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    """Elsewhere: the sandbox shows nothing of temporary directories."""
    with folder_elsewhere() as folder:
        kaa = Kaa(folder)
        (kaa.project / "app.py").write_bytes(
            b"# caf\xe9\r\ndef first():\r\n    return 0\r\n\r\ndef total(items):\r\n    return 0\r\n"
        )
        (kaa.project / "old.txt").write_text("old\n")
        (kaa.project / "name.py").write_text("NAME = 1\n")
        yield kaa


@pytest.fixture
def server(kaa: Kaa) -> Iterator[ModelServer]:
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        kaa.settings(features={"editTool": "apply_patch"})
        yield server


def tools(request: Received) -> set[str]:
    return {tool["function"]["name"] for tool in request.json["tools"]}


def results(request: Received) -> list[str]:
    return [text for who, text in conversation(request) if who == "tool"]


def test_a_patch_changes_several_files_byte_by_byte_and_undo_takes_all_of_it_back(
    kaa: Kaa, server: ModelServer
) -> None:
    before = {path.name: path.read_bytes() for path in kaa.project.iterdir()}
    server.begin([call("apply_patch", input=_PATCH), say("Done.")])

    finished = kaa.run("-p", "Go")

    assert finished.code == 0
    assert {"apply_patch", "bash", "read"} <= tools(server.requests[0])
    assert not {"edit", "write"} & tools(server.requests[0])
    app = (kaa.project / "app.py").read_bytes()
    assert app == b"# caf\xe9\r\ndef first():\r\n    return 0\r\n\r\ndef total(items):\r\n    return sum(items)\r\n"
    assert (kaa.project / "docs/note.md").read_text() == "# Note\n"
    assert not (kaa.project / "old.txt").exists()
    assert not (kaa.project / "name.py").exists()
    assert (kaa.project / "lib/names.py").read_text() == "NAME = 2\n"
    [told] = results(server.requests[1])
    assert told.splitlines()[:2] == ["Edited app.py in line 6.", "Created docs/note.md (7 bytes)."]
    assert "Deleted old.txt." in told
    assert "Moved name.py to lib/names.py." in told

    kaa.run("-c", "-p", "/undo")

    assert {path.name: path.read_bytes() for path in kaa.project.iterdir() if path.is_file()} == before
    assert not (kaa.project / "lib/names.py").exists()


def test_two_sections_about_a_file_change_nothing(kaa: Kaa, server: ModelServer) -> None:
    twice = (
        "*** Begin Patch\n*** Update File: name.py\n-NAME = 1\n+NAME = 2\n"
        "*** Update File: ./name.py\n-NAME = 2\n+NAME = 3\n*** End Patch"
    )
    again = "*** Begin Patch\n*** Delete File: old.txt\n*** Add File: old.txt\n+new\n*** End Patch"
    server.begin([call("apply_patch", input=twice), call("apply_patch", input=again), say("Hm.")])

    kaa.run("-p", "Go")

    first, second = results(server.requests[2])
    assert first.startswith("Nothing was changed: two sections of the patch are about name.py.")
    assert (kaa.project / "name.py").read_text() == "NAME = 1\n"
    assert "Deleted old.txt." in second
    assert (kaa.project / "old.txt").read_text() == "new\n"


def test_rules_about_edits_hold_for_patches(kaa: Kaa, server: ModelServer) -> None:
    kaa.settings(features={"editTool": "apply_patch"}, approvals={"deny": ["write: app.py"]})
    server.begin([call("apply_patch", input=_PATCH), say("Hm.")])

    finished = kaa.run("-p", "Go")

    assert finished.code == 3
    assert "Nothing was changed." in results(server.requests[1])[0]
    assert (kaa.project / "old.txt").exists()


@pytest.mark.parametrize("kept", ["old.txt", "name.py", "lib/**"])
def test_rules_about_writing_hold_for_what_patches_delete_and_move(kaa: Kaa, server: ModelServer, kept: str) -> None:
    kaa.settings(features={"editTool": "apply_patch"}, approvals={"deny": [f"write: {kept}"]})
    changes = ["*** Delete File: old.txt", "*** Update File: name.py\n*** Move to: lib/names.py"]
    server.begin(
        [*(call("apply_patch", input=f"*** Begin Patch\n{one}\n*** End Patch") for one in changes), say("Hm.")]
    )

    finished = kaa.run("-p", "Go")

    assert finished.code == 3
    assert (kaa.project / "old.txt").exists() is (kept == "old.txt")
    assert (kaa.project / "name.py").exists() is (kept != "old.txt")
    assert (kaa.project / "lib").exists() is (kept == "old.txt")
    assert any(f"write: {kept}" in text for text in results(server.requests[2]))


def test_write_moves_no_file_that_an_edit_did_not_give_away(kaa: Kaa, server: ModelServer) -> None:
    kaa.settings(features={"editTool": "edit"})
    server.begin([call("write", path="mine.txt", content="", moveFrom="old.txt"), say("Hm.")])

    kaa.run("-p", "Go")

    assert (kaa.project / "old.txt").exists()
    assert not (kaa.project / "mine.txt").exists()


def test_a_read_only_project_stays_as_it_is(kaa: Kaa, server: ModelServer) -> None:
    server.begin([call("apply_patch", input=_PATCH), say("Hm.")])

    kaa.run("--sandbox", "read-only", "-p", "Go")

    assert (kaa.project / "old.txt").exists()
    assert b"sum" not in (kaa.project / "app.py").read_bytes()


def test_hooks_see_the_parts_of_a_patch_as_edits_and_writes(kaa: Kaa, server: ModelServer) -> None:
    (kaa.home / "hooks.json").write_text(
        '{"hooks": {"PreToolUse": [{"matcher": "Edit|Write|apply_patch", "hooks": [{"type": "command", '
        '"command": "python3 -c \'import json,sys; i=json.load(sys.stdin); print(i[\\"tool_name\\"], '
        'i[\\"tool_input\\"][\\"file_path\\"].rpartition(\\"/\\")[2])\' >> seen.txt"}]}]}}'
    )
    server.begin([call("apply_patch", input=_PATCH), say("Done.")])

    kaa.run("-p", "Go")

    assert (kaa.project / "seen.txt").read_text().split("\n")[:-1] == [
        *("Edit app.py", "Write note.md"),  # a change, a new file
        *("Edit old.txt", "Edit name.py"),  # one that goes, a change
        *("Edit name.py", "Write names.py"),  # a move
    ]
