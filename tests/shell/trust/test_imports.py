"""What instructions import by `@path`: a part of the text that names it, for the question, the hash and the model."""

from pathlib import Path

import pytest

from kaa.shell.components import user_places
from kaa.shell.components.finding import UserTree, find
from kaa.shell.home import Home
from kaa.shell.project_files import ProjectFiles, project_files
from kaa.shell.trust.configuration import ProjectConfiguration, survey
from kaa.shell.trust.store import Changed, TrustStore
from kaa.shell.trust.verdict import judge
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.elsewhere import folder_elsewhere
from tests.support.known_project import make_known

ROOT = "/work/project"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "agent")


def surveyed(home: Home, root: str = ROOT, /, **files: str | bytes) -> ProjectConfiguration:
    """What is found in files of these names, `__` for a slash and `_md` for their ends."""
    named = {
        f"/work/{name.replace('__', '/').replace('_md', '.md')}": text.encode() if isinstance(text, str) else text
        for name, text in files.items()
    }
    return run(survey(MemoryWorkspace(named, root=root), home))


def used(home: Home, configuration: ProjectConfiguration, *, trusted: bool = True) -> ProjectFiles:
    verdict = judge("yes" if trusted else "no", configuration, home)
    return run(project_files(home, configuration, verdict, context=True))


def text(home: Home, **files: str | bytes) -> str:
    """What the model gets of the one context file."""
    [file] = used(home, surveyed(home, **files)).context_files
    return file.text


def test_an_import_follows_the_text(home: Home) -> None:
    found = text(home, project__AGENTS_md="See @docs/git.md.", project__docs__git_md="Rebase.")

    assert found == "See @docs/git.md.\n\n[kaa: docs/git.md, imported by @]\nRebase."


def test_imports_are_relative_to_the_file_that_names_them(home: Home) -> None:
    found = text(home, project__AGENTS_md="@docs/a.md", project__docs__a_md="A @b.md", project__docs__b_md="B")

    assert "[kaa: docs/b.md, imported by @]\nB" in found


def test_imports_of_the_fifth_level_are_named_and_left_out(home: Home) -> None:
    levels = {f"project__{number}_md": f"level {number} @{number + 1}.md" for number in range(1, 7)}
    files = used(home, surveyed(home, project__AGENTS_md="@1.md", **levels))

    assert "level 4" in files.context_files[0].text
    assert "level 5 @" not in files.context_files[0].text
    assert any("the import of 5.md is left out" in notice for notice in files.notices)


def test_a_cycle_ends(home: Home) -> None:
    found = text(home, project__AGENTS_md="@a.md", project__a_md="A @b.md", project__b_md="B @a.md @AGENTS.md")

    assert (found.count("A @b.md"), found.count("B @a.md")) == (1, 1)


@pytest.mark.parametrize(
    ("files", "notice"),
    [
        ({"project__AGENTS_md": "@gone.md"}, "gone.md is left out, because there is no such file"),
        ({"project__AGENTS_md": "@../secret.md", "secret_md": "s"}, "../secret.md is left out, because it is outside"),
        ({"project__AGENTS_md": "@/etc/motd.txt"}, "motd.txt is left out, because it is outside"),
        ({"project__AGENTS_md": "@b.md", "project__b_md": b"\0\1"}, "b.md is left out, because it is a binary file"),
    ],
)
def test_what_cannot_be_imported_is_named(home: Home, files: dict[str, str | bytes], notice: str) -> None:
    found = used(home, surveyed(home, **files))

    assert [notice for one in found.notices if notice in one] == [notice]
    assert found.context_files[0].text == files["project__AGENTS_md"]


def test_words_behind_an_at_sign_are_no_missing_files(home: Home) -> None:
    assert used(home, surveyed(home, project__AGENTS_md="Ask @alice about @types/node.")).notices == ()


def test_a_huge_import_is_cut_and_named(home: Home) -> None:
    found = used(home, surveyed(home, project__AGENTS_md="@b.md", project__b_md="x" * 10_000_000))

    assert len(found.context_files[0].text) < 33 * 1024
    assert f"{ROOT}/AGENTS.md is too long: only its first 32 KiB are used" in found.notices


def test_an_untrusted_text_imports_nothing(home: Home) -> None:
    configuration = surveyed(home, project__AGENTS_md="See @.env", **{"project__.env": "KEY=1"})

    [untrusted] = used(home, configuration, trusted=False).context_files
    [trusted] = used(home, configuration).context_files

    assert (untrusted.text, "KEY=1" in trusted.text) == ("See @.env", True)


def test_a_change_of_an_import_ends_trust_in_the_text(home: Home) -> None:
    store = TrustStore(home)
    store.trust(surveyed(home, project__AGENTS_md="@b.md", project__b_md="Use tabs."))

    changed = surveyed(home, project__AGENTS_md="@b.md", project__b_md="Obey.")

    state = store.state(changed)
    assert isinstance(state, Changed)
    assert "+Obey." in state.difference.diff
    assert store.trusted_files(changed) == frozenset()


def test_a_text_outside_the_repository_imports_nothing(home: Home) -> None:
    found = used(home, surveyed(home, AGENTS_md="@b.md", b_md="B"))

    assert found.context_files[0].text == "@b.md"


def test_an_import_is_not_given_besides_its_own_file(home: Home) -> None:
    files = {"project__.git__HEAD": "x", "project__AGENTS_md": "above", "project__in__AGENTS_md": "@../AGENTS.md"}

    found = used(home, surveyed(home, f"{ROOT}/in", **files))

    assert [file.text for file in found.context_files] == ["above", "@../AGENTS.md"]


def test_a_link_out_of_the_project_is_not_followed(home: Home) -> None:
    async def scene(project: Path) -> ProjectFiles:
        workspace = LocalWorkspace.start(str(project))
        try:
            configuration = await survey(workspace, home)
        finally:
            await workspace.close()
        return await project_files(home, configuration, judge("yes", configuration, home), context=True)

    with folder_elsewhere() as folder:
        (folder / "project" / ".git").mkdir(parents=True)
        (folder / "project" / ".git" / "HEAD").write_text("ref: refs/heads/main")
        (folder / "secret").write_text("key")
        (folder / "project" / "b.md").symlink_to(folder / "secret")
        (folder / "project" / "AGENTS.md").write_text("@b.md")
        found = run(scene(folder / "project"))

    assert found.context_files[-1].text == "@b.md"
    assert any("b.md is left out, because it leads out of" in notice for notice in found.notices)


class TestFromTheHome:
    @pytest.fixture(autouse=True)
    def _home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", "/work/me")

    def test_a_document_and_what_it_imports_are_added(self, home: Home) -> None:
        files = {"me__mine__a_md": "Be brief. @b.md", "me__mine__b_md": "Use tabs."}

        found = text(home, project__AGENTS_md="@~/mine/a.md", **files)

        assert "[kaa: ~/mine/a.md, imported by @]\nBe brief." in found
        assert "[kaa: ~/mine/b.md, imported by @]\nUse tabs." in found

    def test_a_change_of_it_ends_trust_in_the_text(self, home: Home) -> None:
        store = TrustStore(home)
        store.trust(surveyed(home, project__AGENTS_md="@~/a.md", me__a_md="Use tabs."))

        state = store.state(surveyed(home, project__AGENTS_md="@~/a.md", me__a_md="Obey."))

        assert isinstance(state, Changed)
        assert "+Obey." in state.difference.diff

    def test_without_trust_it_is_not_read(self, home: Home) -> None:
        configuration = surveyed(home, project__AGENTS_md="@~/a.md", me__a_md="private")

        [file] = used(home, configuration, trusted=False).context_files

        assert file.text == "@~/a.md"

    @pytest.mark.parametrize("name", ["~/.netrc", "~/key.pem", "~/../other/a.md", "/work/me/a.md"])
    def test_what_is_no_document_there_is_not_imported(self, home: Home, name: str) -> None:
        files = {"me__.netrc": "k", "me__key.pem": "k", "other__a_md": "k", "me__a_md": "k"}

        assert text(home, project__AGENTS_md=f"@{name}", **files) == f"@{name}"

    def test_a_missing_one_is_named(self, home: Home) -> None:
        [notice] = used(home, surveyed(home, project__AGENTS_md="@~/gone.md")).notices

        assert notice == f"{ROOT}/AGENTS.md: the import of ~/gone.md is left out, because there is no such file"

    def test_what_the_sandbox_hides_is_not_imported(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        with folder_elsewhere() as folder:
            monkeypatch.setenv("HOME", str(folder))
            (folder / ".ssh").mkdir()
            (folder / ".ssh" / "notes.md").write_text("key")
            (folder / "open.md").write_text("Be brief.")
            (folder / "project" / ".git").mkdir(parents=True)
            (folder / "project" / ".git" / "HEAD").write_text("ref: refs/heads/main")
            (folder / "project" / "AGENTS.md").write_text("@~/.ssh/notes.md @~/open.md")
            found = run(self._surveyed_and_used(home, folder))

        assert "Be brief." in found.context_files[-1].text
        assert "key" not in found.context_files[-1].text
        reason = "~/.ssh/notes.md is left out, because it may hold secrets"
        assert any(reason in notice for notice in found.notices)

    async def _surveyed_and_used(self, home: Home, folder: Path) -> ProjectFiles:
        workspace = LocalWorkspace.start(str(folder / "project"))
        try:
            configuration = await survey(workspace, home)
        finally:
            await workspace.close()
        return await project_files(home, configuration, judge("yes", configuration, home), context=True)


class TestOfTheUser:
    def test_imports_documents_from_the_home_by_their_own_paths(
        self, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        home.path.mkdir()
        (tmp_path / "style.md").write_text("Be brief.")
        (tmp_path / "secret.md").write_text("key")
        (tmp_path / "link.md").symlink_to("secret.md")
        (home.path / "AGENTS.md").write_text("@~/style.md @~/link.md")

        found = used(home, surveyed(home))

        assert found.context_files[0].text.endswith("[kaa: ~/style.md, imported by @]\nBe brief.")
        assert any("~/link.md is left out, because it cannot be read (a part" in notice for notice in found.notices)

    def test_imports_from_the_users_folder(self, home: Home, tmp_path: Path) -> None:
        home.path.mkdir()
        (tmp_path / "dotfiles.md").write_text("Be brief.")
        (home.path / "style.md").symlink_to(tmp_path / "dotfiles.md")
        (home.path / "AGENTS.md").write_text("@style.md @../dotfiles.md")

        found = used(home, surveyed(home))

        assert found.context_files[0].text.endswith("[kaa: style.md, imported by @]\nBe brief.")
        assert any("dotfiles.md is left out, because it is outside" in notice for notice in found.notices)

    def test_follows_no_link_that_a_command_may_have_made_out_of_a_project(
        self, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project = tmp_path / "dotfiles"
        for folder in (home.path / "skills", project / "rules"):
            folder.mkdir(parents=True)
        (tmp_path / "secret").write_text("KEY")
        make_known(project, home.path, monkeypatch)
        (project / "rules/style.md").symlink_to(tmp_path / "secret")
        (project / "rules/house.md").write_text("Be brief.")
        for name in ("rules", "skills/s", "prompts"):
            (home.path / name).symlink_to(project / "rules")
        (project / "rules/SKILL.md").symlink_to(tmp_path / "secret")
        (home.path / "AGENTS.md").write_text("@rules/style.md @rules/house.md")
        (home.path / "APPEND_SYSTEM.md").symlink_to(project / "rules/style.md")

        found = used(home, surveyed(home))
        own = run(find(UserTree(), user_places(home.path, ()), None))

        assert found.context_files[0].text.endswith("[kaa: rules/house.md, imported by @]\nBe brief.")
        assert found.append_system_prompt is None
        assert "a command could have made the link" in str(found.notices)
        assert "rules/style.md is left out, because there is no such file, or kaa does not" in str(found.notices)
        assert [file.name for file in own.files] == ["house"]
        assert "SKILL.md, " in own.notices[0]
        assert "a command could have made a link" in own.notices[0]

    def test_files_of_other_agents_only_if_wanted(
        self, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / ".claude").mkdir()
        (tmp_path / ".claude" / "CLAUDE.md").write_text("Use tabs.")
        configuration = surveyed(home)
        verdict = judge("no", configuration, home)

        unwanted = run(project_files(home, configuration, verdict, context=True))
        wanted = run(project_files(home, configuration, verdict, context=True, agents=("claude",)))

        assert unwanted.context_files == ()
        assert [(file.text, file.trusted) for file in wanted.context_files] == [("Use tabs.", True)]
