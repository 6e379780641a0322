import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import kaa
from kaa.hands.policy import Mode
from kaa.shell import safety
from kaa.shell.home import Home
from kaa.shell.safety import SandboxFlags, UnopenedWorkspace, open_workspace, sandbox_options
from kaa.shell.settings import SettingsError
from kaa.workspace.launch import launch
from kaa.workspace.sandbox.options import SandboxOptions


def _options(tmp_path: Path, flags: SandboxFlags = SandboxFlags(), **sandbox: Any) -> SandboxOptions:  # noqa: B008
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (home / "settings.json").write_text(json.dumps({"sandbox": sandbox}))
    return sandbox_options(Home(home), flags, os.getcwd())


def test_without_a_choice_the_project_may_be_written_and_nothing_reached(tmp_path: Path) -> None:
    options = _options(tmp_path)

    assert options.mode == "workspace-write"
    assert str(options.network) == "off"
    assert options.private == (str(tmp_path / "home"),)


def test_flags_come_before_settings(tmp_path: Path) -> None:
    flags = SandboxFlags("read-only", "pypi.org", (str(tmp_path),))

    options = _options(tmp_path, flags, mode="full-access", network="on", writable=["/usr"])

    assert (options.mode, str(options.network)) == ("read-only", "pypi.org")
    assert options.writable == ("/usr", str(tmp_path))


def test_domains_can_be_a_list(tmp_path: Path) -> None:
    assert str(_options(tmp_path, network=["a.com", "*.b.org"]).network) == "a.com,*.b.org"


def test_hidden_paths_are_spelled_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")

    assert _options(tmp_path, hidden=["~/x", "!~/.npmrc"]).hidden == ("/home/me/x", "!/home/me/.npmrc")


@pytest.mark.parametrize(
    ("sandbox", "complaint"),
    [
        ({"mode": "everything"}, "sandbox.mode"),
        ({"network": "https://pypi.org/x"}, "sandbox.network"),
        ({"network": 5}, "sandbox.network"),
        ({"writable": ["/no/such/place"]}, "not a directory"),
        ({"writable": ["/"]}, "full-access"),
        ({"hidden": ["notes/**/key.txt"]}, "one level"),
        ({"hidden": ["!**/notes"]}, "one level"),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path: Path, sandbox: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        _options(tmp_path, **sandbox)


def test_a_linked_extension_is_protected_with_all_of_its_folder(tmp_path: Path) -> None:
    source = tmp_path / "sources" / "hello"
    source.mkdir(parents=True)
    (source / "manifest.yaml").write_text("name: hello\nruntime: node\nentry: main.js\n")
    link = tmp_path / "home" / "extensions" / "hello"
    link.parent.mkdir(parents=True)
    link.symlink_to(source)

    assert _options(tmp_path).loaded == (str(link), str(source))


def test_what_links_in_a_linked_extension_lead_to_is_protected(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    home, extension = Home(tmp_path / "home"), project / "tools" / "hello"
    for folder in (home.extensions, extension / "inner", extension / "node_modules" / "pkg" / "deep", elsewhere):
        folder.mkdir(parents=True)
    for name in ("shared", "further", "package", "unused"):
        (project / name).mkdir()
    (extension / "__init__.py").touch()
    (extension / "inner" / "shared").symlink_to("../../../shared")
    (project / "shared" / "further").symlink_to("../further")
    (extension / "node_modules" / "package").symlink_to("../../../package")
    (extension / "node_modules" / "pkg" / "deep" / "unused").symlink_to(project / "unused")
    (extension / "elsewhere").symlink_to(elsewhere)  # no command writes there
    (extension / "project").symlink_to("../..")  # would protect all of it

    loaded = set(sandbox_options(home, SandboxFlags(extensions=(str(extension),)), str(project)).loaded)

    below = {path.removeprefix(f"{project}/") for path in loaded if path.startswith(str(project))}
    assert below == {"tools/hello", "shared", "further", "package"}


@pytest.mark.parametrize("by_setting", [False, True])
def test_commands_may_write_an_extension_in_the_project_that_is_loaded_from_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_setting: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    home, extension = Home(tmp_path / "user" / "home"), tmp_path / "user" / "dev" / "project" / "hello"
    for folder in (home.extensions, extension):
        folder.mkdir(parents=True)
    (extension / "__init__.py").touch()
    if by_setting:
        home.settings.write_text(json.dumps({"extensions": [str(extension)]}))
    else:
        (home.extensions / "hello").symlink_to(extension)

    here = sandbox_options(home, SandboxFlags(), str(extension.parent))
    elsewhere = sandbox_options(home, SandboxFlags(), str(home.path.parent.parent))

    assert str(extension) not in (*here.loaded, *here.obeyed)
    assert str(extension) in elsewhere.loaded  # the whole home is no project: nothing is copied


def test_hooks_of_the_users_are_protected_where_commands_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    source = tmp_path / "project" / "dotfiles" / "claude.json"
    source.parent.mkdir(parents=True)
    source.write_text("{}")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").symlink_to(source)
    home = Home(tmp_path / "home")
    home.path.mkdir()
    home.settings.write_text('{"useFilesOf": ["claude"]}')

    options = sandbox_options(home, SandboxFlags(), str(tmp_path / "project"))

    assert options.loaded == options.obeyed == (str(source),)


def test_what_kaa_obeys_of_the_user_is_protected_behind_links_into_the_project(tmp_path: Path) -> None:
    dotfiles = tmp_path / "project" / "kaa"
    dotfiles.mkdir(parents=True)
    home = Home(tmp_path / "home")
    home.path.mkdir()
    for name in ("models.json", "mcp.json", "AGENTS.md"):
        (dotfiles / name).write_text("{}")
        (home.path / name).symlink_to(dotfiles / name)
    (tmp_path / "elsewhere.json").touch()
    (home.path / "keybindings.json").symlink_to(tmp_path / "elsewhere.json")

    options = sandbox_options(home, SandboxFlags(), str(tmp_path / "project"))

    protected = {str(dotfiles / name) for name in ("models.json", "mcp.json", "AGENTS.md")}
    assert set(options.loaded) == set(options.obeyed) == protected


def test_what_the_users_texts_import_is_protected_like_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    home, project = Home(tmp_path / "home"), tmp_path / "project"
    for folder in (home.path, project / "rules", project / "claude/commands", tmp_path / "docs"):
        folder.mkdir(parents=True)
    home.settings.write_text('{"useFilesOf": ["claude"]}')
    (home.path / "AGENTS.md").write_text("By @alice: @rules/style.md, @~/project/house.md and @/etc/motd")
    (home.path / "rules").symlink_to(project / "rules")
    (project / "rules/style.md").write_text("@more.md")
    (tmp_path / ".claude").symlink_to(project / "claude")
    (project / "claude/CLAUDE.md").write_text("@notes.md @commands")

    options = sandbox_options(home, SandboxFlags(), str(project))

    held = ("rules/style.md", "rules/more.md", "house.md", "claude/notes.md", "claude/CLAUDE.md")
    assert {str(project / one) for one in held} <= set(options.obeyed)
    assert str(project / "rules") not in options.obeyed


_OWN = (".kaa/agent", *(f".kaa/agent/{name}" for name in ("settings.json", "hooks.json", "mcp.json", "skills")))
_OWN += (".kaa/agent/agents/team/review.md", ".kaa/agent/skills/team/one/SKILL.md", ".kaa/agent/extensions/new.py")
_OWN += (
    ".claude",
    ".claude/settings.json",
    ".claude/CLAUDE.md",
    ".agents/skills",
    ".kaa/agent/extensions/x/__init__.py",
)


@pytest.mark.parametrize("path", _OWN)
@pytest.mark.parametrize("exists", [True, False])
def test_a_link_that_commands_can_exchange_leads_to_nothing_of_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, exists: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    project, link = tmp_path / "project", tmp_path / path
    (project / "first").mkdir(parents=True)
    (project / "current").symlink_to("first")
    _link(link, project / "current" / link.name, exists=exists)
    home = _with_files_of_claude(tmp_path)

    with pytest.raises(SettingsError, match=r"project/current: give the path it leads to, .*project/first"):
        sandbox_options(home, SandboxFlags(), str(project))


def test_a_link_in_the_home_that_is_the_project_says_where_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.claude").symlink_to(tmp_path / "dotfiles")
    home = _with_files_of_claude(tmp_path / "home")

    with pytest.raises(SettingsError, match="Start kaa in the directory of a project"):
        sandbox_options(home, SandboxFlags(), str(tmp_path / "home"))


@pytest.mark.parametrize(
    "path",
    # Extensions are loaded from copies.
    [one for one in _OWN if one not in (".kaa/agent", ".claude") and not one.startswith(".kaa/agent/extensions/")],
)
@pytest.mark.parametrize("exists", [True, False])
def test_files_of_the_user_are_protected_wherever_they_lie_and_before_they_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, exists: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    project, link = tmp_path / "project", tmp_path / path
    (project / "own").mkdir(parents=True)
    _link(link, project / "own" / link.name, exists=exists)
    home = _with_files_of_claude(tmp_path)

    options = sandbox_options(home, SandboxFlags(), str(project))

    assert str(project / "own" / link.name) in options.obeyed
    assert set(options.obeyed) <= set(options.loaded)
    assert str(project) not in options.loaded


def test_skills_behind_links_of_a_folder_behind_a_link_are_protected(tmp_path: Path) -> None:
    project, home = tmp_path / "project", Home(tmp_path / "home")
    for folder in (project / "skills", project / "sources" / "one", home.path):
        folder.mkdir(parents=True)
    (home.path / "skills").symlink_to(project / "skills")
    (project / "skills" / "one").symlink_to("../sources/one")  # which commands cannot exchange there
    (project / "sources" / "one" / "SKILL.md").symlink_to("../one.md")

    options = sandbox_options(home, SandboxFlags(), str(project))

    assert set(options.obeyed) == {str(project / one) for one in ("skills", "sources/one", "sources/one.md")}


def _link(link: Path, target: Path, *, exists: bool) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    if exists and target.suffix:
        target.write_text("{}")
    elif exists:
        target.mkdir()
    link.symlink_to(target)


def _with_files_of_claude(folder: Path) -> Home:
    home = Home(folder / ".kaa" / "agent")
    if not home.path.is_symlink():
        home.path.mkdir(parents=True, exist_ok=True)
        if not home.settings.is_symlink():
            home.settings.write_text('{"useFilesOf": ["claude"]}')
    return home


def test_files_that_are_obeyed_for_one_run_are_protected(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    home = Home(tmp_path / "home")
    flags = SandboxFlags(files=("ci/mcp.json", str(tmp_path / "mcp.json")))

    assert sandbox_options(home, flags, str(tmp_path / "project")).loaded == (str(tmp_path / "project/ci/mcp.json"),)


def _known_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which commands of another conversation could write: they made a link to a folder of the user's."""
    user, project = tmp_path / "user", tmp_path / "other"
    for folder in (user, project / "own", tmp_path / "private"):
        folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    (user / ".cache/kaa/caches" / quote(str(project), safe="")).mkdir(parents=True)
    (project / "planted").symlink_to(tmp_path / "private")
    (project / "inside").symlink_to("own")
    return project


@pytest.mark.parametrize("by", ["settings", "flag"])
def test_a_link_that_another_project_could_make_leads_to_no_writable_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    project = _known_project(tmp_path, monkeypatch)

    def writable(path: Path) -> tuple[str, ...]:
        if by == "flag":
            return _options(tmp_path, SandboxFlags(writable=(str(path),))).writable
        return _options(tmp_path, writable=[str(path)]).writable

    with pytest.raises(SettingsError, match=f"name it without the link: {tmp_path / 'private'}"):
        writable(project / "planted")
    assert writable(project / "inside") == (str(project / "own"),)
    (tmp_path / "mine").symlink_to(tmp_path / "private")
    assert writable(tmp_path / "mine") == (str(tmp_path / "private"),)


def test_a_link_in_a_writable_directory_leads_to_no_other_one(tmp_path: Path) -> None:
    for name in ("added", "private"):
        (tmp_path / name).mkdir()
    (tmp_path / "added" / "planted").symlink_to(tmp_path / "private")

    with pytest.raises(SettingsError, match="planted leads to"):
        _options(tmp_path, SandboxFlags(writable=(str(tmp_path / "added"), str(tmp_path / "added" / "planted"))))


def test_kaa_does_not_start_where_a_planted_link_leads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = _known_project(tmp_path, monkeypatch)
    monkeypatch.setenv("KAA_DIR", str(tmp_path / "kaa"))
    monkeypatch.setenv("PWD", str(project / "planted"))

    hands = launch()
    opened = open_workspace(hands, str(tmp_path / "private"), SandboxFlags())
    hands.control.close()
    hands.process.wait()

    assert isinstance(opened, UnopenedWorkspace)
    assert opened.usage
    assert "commands of the model could make it" in opened.reason


@pytest.mark.parametrize("place", ["", "skills", "extensions/hello"])
@pytest.mark.parametrize("mode", ["read-only", "workspace-write"])
@pytest.mark.parametrize("is_linked", [False, True])
def test_kaas_own_folder_is_no_project(tmp_path: Path, place: str, mode: Mode, is_linked: bool) -> None:
    folder = tmp_path / "own"
    home = Home(tmp_path / "linked" if is_linked else folder)
    (folder / place).mkdir(parents=True)
    if is_linked:
        home.path.symlink_to(folder)
    (tmp_path / "project").mkdir()

    with pytest.raises(SettingsError, match=r"in kaa's own folder, .*: .* --link"):
        sandbox_options(home, SandboxFlags(mode=mode), str(folder / place))
    with pytest.raises(SettingsError, match="in kaa's own folder"):
        sandbox_options(home, SandboxFlags(mode=mode, writable=(str(folder / place),)), str(tmp_path / "project"))
    assert sandbox_options(home, SandboxFlags(mode="full-access"), str(folder / place)).mode == "full-access"
    assert sandbox_options(home, SandboxFlags(mode=mode, only_surveys=True), str(folder / place)).mode == mode


@pytest.mark.parametrize("place", ["", "team", "team/one"])
def test_folders_of_the_user_that_cannot_be_held_are_not_said_to_be(tmp_path: Path, place: str) -> None:
    skills, home = tmp_path / "skills", Home(tmp_path / "home")
    (skills / "team" / "one").mkdir(parents=True)
    (skills / "team" / "one" / "SKILL.md").touch()
    (skills / "team" / "two").symlink_to("one")
    home.path.mkdir()
    (home.path / "skills").symlink_to(skills)
    (home.path / "extensions").symlink_to(skills)

    options = sandbox_options(home, SandboxFlags(extensions=(str(skills),)), str(skills / place))

    assert str(skills) not in (*options.obeyed, *options.loaded)


def test_a_link_in_a_folder_of_skills_leads_to_no_settings(tmp_path: Path) -> None:
    skills, home = tmp_path / "skills", Home(tmp_path / "home")
    (skills / "v1").mkdir(parents=True)
    (skills / "current").symlink_to("v1")
    home.path.mkdir()
    (home.path / "skills").symlink_to(skills)
    (home.path / "hooks.json").symlink_to(skills / "current" / "hooks.json")

    with pytest.raises(SettingsError, match="current: give the path it leads to"):
        sandbox_options(home, SandboxFlags(), str(skills))


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("skills/app/src", "src"),  # of a skill that is about the sources
        ("skills/app/references", "docs"),
        ("skills/sources", "src"),
        ("src", "src"),
        ("prompts/src", "src"),
    ],
)
def test_links_to_what_kaa_does_not_read_protect_nothing(tmp_path: Path, link: str, target: str) -> None:
    project, home = tmp_path / "project", Home(tmp_path / "home")
    for folder in (project / "src" / "tools", project / "docs"):
        folder.mkdir(parents=True)
    (project / "src" / "main.py").touch()
    (project / "docs" / "guide.md").touch()
    (home.path / "skills" / "app").mkdir(parents=True)
    (home.path / "skills" / "app" / "SKILL.md").touch()
    (home.path / link).parent.mkdir(exist_ok=True)
    (home.path / link).symlink_to(project / target)

    assert sandbox_options(home, SandboxFlags(), str(project)).obeyed == ()


def test_of_a_linked_skill_only_what_kaa_reads_is_protected(tmp_path: Path) -> None:
    project, home = tmp_path / "project", Home(tmp_path / "home")
    for name in ("app/scripts", "team/one", "team/two"):
        (project / "skills" / name).mkdir(parents=True)
    (project / "docs").mkdir()
    for name in ("app", "team/one"):
        (project / "skills" / name / "SKILL.md").touch()
    (project / "skills" / "app" / "references").symlink_to("../../docs")
    (home.path / "skills").mkdir(parents=True)
    for name in ("app", "team"):
        (home.path / "skills" / name).symlink_to(project / "skills" / name)

    obeyed = sandbox_options(home, SandboxFlags(), str(project)).obeyed

    assert set(obeyed) == {str(project / "skills" / one) for one in ("app/SKILL.md", "team")}


@pytest.mark.parametrize(
    "folder",
    [
        os.path.dirname(kaa.__file__),
        os.path.dirname(safety.__file__),
        os.path.dirname(os.path.dirname(kaa.__file__)),
        os.path.dirname(sys.executable),
        os.path.dirname(pytest.__path__[0]),
    ],
)
def test_what_kaa_runs_from_is_no_project(tmp_path: Path, folder: str) -> None:
    home = Home(tmp_path / "home")

    with pytest.raises(SettingsError, match="among the code that kaa itself runs from"):
        sandbox_options(home, SandboxFlags(), folder)
    with pytest.raises(SettingsError, match="among the code that kaa itself runs from"):
        sandbox_options(home, SandboxFlags(writable=(folder,)), str(tmp_path))
    checkout = os.path.dirname(os.path.dirname(os.path.dirname(kaa.__file__)))
    assert sandbox_options(home, SandboxFlags(), checkout).mode == "workspace-write"
