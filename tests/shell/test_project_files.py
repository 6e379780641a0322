from pathlib import Path

from kaa.shell.home import Home
from kaa.shell.project_files import ProjectFiles, read_project_files
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run


def read(files: dict[str, str], home: Path, *, context: bool = True) -> ProjectFiles:
    workspace = MemoryWorkspace({path: text.encode() for path, text in files.items()}, root="/work/project")
    return run(read_project_files(workspace, Home(home), context=context))


def test_context_files_come_from_the_general_to_the_particular(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("mine")

    found = read({"/AGENTS.md": "root", "/work/CLAUDE.md": "work", "/work/project/AGENTS.md": "project"}, tmp_path)

    assert [file.text for file in found.context_files] == ["mine", "root", "work", "project"]


def test_one_file_per_folder_is_used(tmp_path: Path) -> None:
    found = read({"/work/project/AGENTS.md": "agents", "/work/project/CLAUDE.md": "claude"}, tmp_path)

    assert [file.text for file in found.context_files] == ["agents"]


def test_a_huge_context_file_is_cut_and_named(tmp_path: Path) -> None:
    found = read({"/work/project/AGENTS.md": "x" * 100_000}, tmp_path)

    assert [len(file.text) for file in found.context_files] == [32 * 1024]
    assert found.truncated == ("/work/project/AGENTS.md",)


def test_a_huge_system_prompt_is_cut_and_named(tmp_path: Path) -> None:
    found = read({"/work/project/.kaa/SYSTEM.md": "x" * 100_000}, tmp_path)

    assert len(found.system_prompt or "") == 32 * 1024
    assert found.truncated == ("/work/project/.kaa/SYSTEM.md",)


def test_context_files_can_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("mine")

    assert read({"/work/project/AGENTS.md": "project"}, tmp_path, context=False).context_files == ()


def test_the_project_s_prompts_come_before_the_user_s(tmp_path: Path) -> None:
    (tmp_path / "SYSTEM.md").write_text("my system")
    (tmp_path / "APPEND_SYSTEM.md").write_text("my addition")

    found = read({"/work/project/.kaa/SYSTEM.md": "project system"}, tmp_path)

    assert (found.system_prompt, found.append_system_prompt) == ("project system", "my addition")
    assert found.settings is None
