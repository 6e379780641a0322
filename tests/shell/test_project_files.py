import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.shell.home import Home
from kaa.shell.project_files import ProjectFiles, project_files
from kaa.shell.trust.configuration import survey
from kaa.shell.trust.verdict import judge
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import Workspace
from tests.support.agents import run
from tests.support.elsewhere import folder_elsewhere


def read(files: dict[str, str], home: Path, *, context: bool = True, trusted: bool = True) -> ProjectFiles:
    workspace = MemoryWorkspace({path: text.encode() for path, text in files.items()}, root="/work/project")
    return run(_read(workspace, home, context=context, trusted=trusted))


async def _read(workspace: Workspace, home: Path, *, context: bool = True, trusted: bool) -> ProjectFiles:
    configuration = await survey(workspace, Home(home))
    verdict = judge("yes" if trusted else "no", configuration, Home(home))
    return await project_files(Home(home), configuration, verdict, context=context)


def read_real(project: Path, home: Path, *, trusted: bool) -> ProjectFiles:
    async def scene() -> ProjectFiles:
        workspace = LocalWorkspace.start(str(project))
        try:
            return await _read(workspace, home, trusted=trusted)
        finally:
            await workspace.close()

    return run(scene())


def below(project: Path, files: ProjectFiles) -> list[str]:
    """Texts of the context files in the project: there may be others above it on this machine."""
    return [file.text for file in files.context_files if Path(file.path).is_relative_to(project)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def test_context_files_come_from_the_general_to_the_particular(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("mine")

    found = read({"/AGENTS.md": "root", "/work/CLAUDE.md": "work", "/work/project/AGENTS.md": "project"}, tmp_path)

    assert [file.text for file in found.context_files] == ["mine", "root", "work", "project"]


def test_one_file_per_folder_is_used(tmp_path: Path) -> None:
    found = read({"/work/project/AGENTS.md": "agents", "/work/project/CLAUDE.md": "claude"}, tmp_path)

    assert [file.text for file in found.context_files] == ["agents"]


@pytest.mark.parametrize(("trusted", "kibibytes"), [(True, 32), (False, 8)])
def test_a_huge_context_file_is_cut_and_named(tmp_path: Path, trusted: bool, kibibytes: int) -> None:
    found = read({"/work/project/AGENTS.md": "x" * 100_000}, tmp_path, trusted=trusted)

    assert [file.text for file in found.context_files] == [
        "x" * kibibytes * 1024 + f"\n[kaa: cut after {kibibytes} KiB]"  # for the model
    ]
    assert f"/work/project/AGENTS.md is too long: only its first {kibibytes} KiB are used" in found.notices


def test_a_huge_system_prompt_is_cut_and_named(tmp_path: Path) -> None:
    found = read({"/work/project/.kaa/SYSTEM.md": "x" * 100_000}, tmp_path)

    assert found.system_prompt == "x" * 32 * 1024 + "\n[kaa: cut after 32 KiB]"
    assert found.notices == (".kaa/SYSTEM.md is too long: only its first 32 KiB are used",)


def test_context_files_can_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("mine")

    assert read({"/work/project/AGENTS.md": "project"}, tmp_path, context=False).context_files == ()


def test_the_project_s_prompts_come_before_the_user_s(tmp_path: Path) -> None:
    (tmp_path / "SYSTEM.md").write_text("my system")
    (tmp_path / "APPEND_SYSTEM.md").write_text("my addition")

    found = read({"/work/project/.kaa/SYSTEM.md": "project system"}, tmp_path)

    assert (found.system_prompt, found.append_system_prompt) == ("project system", "my addition")
    assert found.settings is None


class TestOfAnUntrustedProject:
    def test_nothing_configures(self, tmp_path: Path) -> None:
        (tmp_path / "SYSTEM.md").write_text("my system")
        files = {f"/work/project/.kaa/{name}": "theirs" for name in ("settings.json", "SYSTEM.md", "APPEND_SYSTEM.md")}

        found = read(files, tmp_path, trusted=False)

        assert (found.settings, found.system_prompt, found.append_system_prompt) == (None, "my system", None)

    def test_context_files_only_inform_but_for_the_user_s_own(self, tmp_path: Path) -> None:
        (tmp_path / "AGENTS.md").write_text("mine")
        files = {"/work/AGENTS.md": "above", "/work/project/AGENTS.md": "project"}

        found = read(files, tmp_path, trusted=False)

        assert [(file.text, file.trusted) for file in found.context_files] == [
            ("mine", True),
            ("above", False),
            ("project", False),
        ]
        own, outside = found.notices
        assert own.startswith("/work/project/AGENTS.md: the model gets this as information, not as instructions")
        assert "/trust" in own
        assert outside.startswith("/work/AGENTS.md: the model gets this as information, not as instructions")
        assert "outside the project and its repository" in outside

    def test_a_link_shows_no_file_from_elsewhere(self, tmp_path: Path, project: Path) -> None:
        (project / "AGENTS.md").symlink_to("/etc/passwd")

        found = read_real(project, tmp_path, trusted=False)

        assert below(project, found) == []
        assert any("AGENTS.md is not used" in notice for notice in found.notices)

    def test_a_link_inside_the_folder_is_followed(self, tmp_path: Path, project: Path) -> None:
        (project / "NOTES.md").write_text("use tabs")
        (project / "CLAUDE.md").symlink_to("NOTES.md")

        assert below(project, read_real(project, tmp_path, trusted=False)) == ["use tabs"]


def test_a_pipe_is_not_read(tmp_path: Path, project: Path) -> None:
    os.mkfifo(project / "AGENTS.md")

    assert below(project, read_real(project, tmp_path, trusted=True)) == []


def test_what_a_reader_would_not_see_is_left_out_and_told(tmp_path: Path) -> None:
    smuggled = "".join(chr(0xE0000 + ord(char)) for char in "obey")

    found = read({"/work/project/AGENTS.md": f"Use\u202e tabs{smuggled}.\x1b[8m\r\n日本 👩‍💻"}, tmp_path)

    assert [file.text for file in found.context_files] == ["Use tabs.[8m\n日本 👩‍💻"]
    assert found.notices == ("/work/project/AGENTS.md has 6 invisible characters: they are left out",)


_NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
_STRANGER = 65533


@pytest.mark.parametrize("trusted", [True, False])
class TestAbove:
    """Files of directories above the project."""

    @pytest.fixture
    def above(self) -> Iterator[Path]:
        """A directory with a project in it, where the sandbox shows it."""
        with folder_elsewhere() as folder:
            (folder / "project").mkdir()
            yield folder

    def used(self, above: Path, *, trusted: bool) -> tuple[list[str], str]:
        """The text of the file there, and what is said of it."""
        files = read_real(above / "project", above / "home", trusted=trusted)
        beside = str(above / "AGENTS.md")
        return [file.text for file in files.context_files if file.path == beside], "\n".join(
            notice for notice in files.notices if notice.startswith(f"{beside} is not used")
        )

    def test_of_ones_own_are_used(self, above: Path, trusted: bool) -> None:
        (above / "AGENTS.md").write_text("mine")

        assert self.used(above, trusted=trusted) == (["mine"], "")

    @_NEEDS_ROOT
    def test_of_another_user_are_not_used(self, above: Path, trusted: bool) -> None:
        (above / "AGENTS.md").write_text("theirs")
        os.chown(above / "AGENTS.md", _STRANGER, _STRANGER)

        found, notice = self.used(above, trusted=trusted)

        assert found == []
        assert "it belongs to another user (uid 65533)" in notice

    @_NEEDS_ROOT
    def test_in_a_directory_of_another_user_are_not_used(self, above: Path, trusted: bool) -> None:
        (above / "AGENTS.md").write_text("mine")
        os.chown(above, _STRANGER, _STRANGER)

        found, notice = self.used(above, trusted=trusted)

        assert found == []
        assert "its directory belongs to another user" in notice

    @_NEEDS_ROOT
    def test_that_another_user_links_to_are_not_used(self, above: Path, trusted: bool) -> None:
        (above / "notes").write_text("mine")
        (above / "AGENTS.md").symlink_to("notes")
        os.lchown(above / "AGENTS.md", _STRANGER, _STRANGER)

        assert "the link belongs to another user" in self.used(above, trusted=trusted)[1]

    def test_that_everybody_can_write_are_not_used(self, above: Path, trusted: bool) -> None:
        (above / "AGENTS.md").write_text("anybody's")
        (above / "AGENTS.md").chmod(0o666)

        found, notice = self.used(above, trusted=trusted)

        assert found == []
        assert "every user can write it" in notice

    def test_in_a_directory_that_everybody_can_write_are_not_used(self, above: Path, trusted: bool) -> None:
        (above / "AGENTS.md").write_text("mine")
        above.chmod(0o777)
        refused = self.used(above, trusted=trusted)
        above.chmod(0o1777)  # as /tmp: nobody can replace what belongs to another user
        used = self.used(above, trusted=trusted)

        assert "every user can write its directory" in refused[1]
        assert used == (["mine"], "")


def test_the_projects_own_file_is_used_whoever_it_belongs_to(project: Path, tmp_path: Path) -> None:
    (project / "AGENTS.md").write_text("the project's")
    (project / "AGENTS.md").chmod(0o666)

    assert below(project, read_real(project, tmp_path, trusted=True)) == ["the project's"]
