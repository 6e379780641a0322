import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from kaa.hands.confinement import repositories
from kaa.hands.confinement.named import named_paths, needed_paths


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path.resolve() / "home"
    (home / "project" / ".git").mkdir(parents=True)
    return home


@pytest.fixture
def project(home: Path) -> Path:
    return home / "project"


def named(project: Path, of_repository: str = "", of_user: str = "") -> set[str]:
    """Paths below the project."""
    (project / ".git" / "config").write_text(of_repository)
    (project.parent / ".gitconfig").write_text(of_user)
    found = named_paths(repositories.find(str(project)), [str(project)], str(project.parent))
    return _relative(found, project)


def _relative(paths: Iterable[str], project: Path) -> set[str]:
    return {str(Path(path).relative_to(project)) for path in paths}


@pytest.mark.parametrize("value", [".githooks", "./.githooks", "~/project/.githooks", "sub/../.githooks"])
def test_hooks_are_at_the_top_of_the_working_tree(project: Path, value: str) -> None:
    text = f"[core]\n\thooksPath = {value}\n"

    assert named(project, text) == named(project, of_user=text) == {".githooks"}


def test_user_s_hooks_are_named_in_each_repository(project: Path) -> None:
    (project / "nested" / ".git").mkdir(parents=True)

    assert named(project, of_user="[core]\n\thooksPath = hooks\n") == {"hooks", "nested/hooks"}


def test_what_is_included_is_named_and_read(project: Path) -> None:
    (project / "more").write_text('[include]\n\tpath = most\n[includeIf "gitdir:~/"]\n\tpath = more\n')
    (project / "most").write_text("[core]\n\thooksPath = hooks\n")

    assert named(project, "[include]\n\tpath = ../more\n") == {"more", "most", "hooks"}


def test_what_the_user_includes_from_elsewhere_is_read(project: Path) -> None:
    (project.parent / "dotfiles").mkdir()
    (project.parent / "dotfiles" / "git").write_text("[core]\n\thooksPath = hooks\n")

    assert named(project, of_user="[include]\n\tpath = dotfiles/git\n") == {"hooks"}


def test_programs_of_commands_are_named(project: Path) -> None:
    (project / "tools").mkdir()
    (project / "tools" / "diff.sh").touch()
    text = (
        '[diff]\n\texternal = tools/diff.sh --fast\n[filter "x"]\n\tclean = "python3 ./new/clean.py %f"\n'
        '[alias]\n\tdo = "!cd tools/ && sed s/tools/x/ ; ~/project/do"\n\tsafe = log --format=a/b\n'
        f"[core]\n\tfsmonitor = {project}/monitor\n\teditor = /usr/bin/vi\n[credential]\n\thelper = store\n"
    )

    assert named(project, text) == {"tools/diff.sh", "new/clean.py", "do", "monitor"}


def test_two_dots_behind_a_link_are_above_what_it_leads_to(project: Path) -> None:
    (project / "a/b").mkdir(parents=True)
    (project / "a/gh").mkdir()
    (project / "l").symlink_to("a/b")

    assert named(project, "[core]\n\thooksPath = l/../gh\n") == {"l", "a/gh"}
    assert named(project, "[core]\n\thooksPath = a/../gh\n") == {"gh"}


@pytest.mark.parametrize(
    ("key", "command", "expected"),
    [
        ("filter.x.clean", "sh clean.sh", "clean.sh"),
        ("filter.x.clean", "/bin/sh clean.sh", "clean.sh"),
        ("filter.x.clean", "python3 -u clean.sh %f", "clean.sh"),
        ("filter.x.clean", "'a b/x.sh' %f", "a b/x.sh"),
        ("filter.x.clean", '\\"a b/x.sh\\" %f', "a b/x.sh"),
        ("filter.x.clean", "a\\\\ b/x.sh", "a b/x.sh"),
        ("filter.x.clean", "sh 'a b.sh'", "a b.sh"),
        ("filter.x.clean", "awk -f notes.txt", "notes.txt"),
        ("core.fsmonitor", "sh clean.sh", "clean.sh"),
        ("core.editor", "sh -c 'sh clean.sh; cat'", "clean.sh"),
        ("alias.st", "!sh clean.sh", "clean.sh"),
        ("alias.st", "!git add notes.txt", ""),
        ("alias.st", "log clean.sh", ""),
        ("diff.x.textconv", "clean.sh", ""),
        ("user.name", "sh clean.sh", ""),
        ("filter.x.clean", "sh missing.sh sub '", ""),
    ],
)
def test_words_without_a_slash_and_in_quotes_are_named(project: Path, key: str, command: str, expected: str) -> None:
    (project / "a b").mkdir()
    (project / "sub").mkdir()
    for name in ("clean.sh", "a b.sh", "a b/x.sh", "notes.txt"):
        (project / name).touch()
    section, _, name = key.rpartition(".")
    section, _, subsection = section.partition(".")
    head = f'{section} "{subsection}"' if subsection else section

    assert named(project, f"[{head}]\n\t{name} = {command}\n") == ({expected} if expected else set())


_COMPUTED = {
    "$(git rev-parse --show-toplevel)/scripts/x": "scripts/x",
    '\\"$(git rev-parse --show-toplevel)\\"/scripts/x %f': "scripts/x",
    '\\"$(git rev-parse --show-toplevel)/scripts/later\\"': "scripts/later",
    "`git rev-parse --show-toplevel`/scripts/x": "scripts/x",
    "$PWD/scripts/x": "scripts/x",
    "$(pwd)/scripts/later": "scripts/later",
    "$HOME/project/scripts/x": "scripts/x",
    '\\"${HOME}/project/scripts/later\\"': "scripts/later",
    "$HOME/scripts/later": "",
    "$GIT_DIR/../scripts/x": "scripts/x",
    "$(git rev-parse --git-common-dir)/../scripts/x": "scripts/x",
    '\\"${GIT_PREFIX:-./}scripts/x\\"': "scripts/x",
    '\\"$(cd \\"$(dirname \\"$0\\")\\" && pwd)/scripts/x\\"': "scripts/x",
    "$TOOLS/scripts/later": "",
    "$TOOLS/x": "",
    "cd scripts && ./x": "scripts/x ./x",
    "cd scripts; sh x": "scripts/x",
    "sh -c 'cd scripts; sh x'": "scripts/x",
    "cd './a b' && sh y": "a b/y",
    "cd a; cd b; sh z": "a/b/z",
    "cd a && $PWD/b/z": "a/b/z b/z",
    'cd \\"$(git rev-parse --show-toplevel)/scripts\\" && sh x': "scripts/x",
    "env -C scripts sh x": "scripts/x",
    "python3 -m tools.clean": "tools/__init__.py tools/clean.py",
    "python3 -m strip": "strip.py",
    "$PYTHON -mstrip": "strip.py",
    "PYTHONPATH=a python3 -m part": "a/part/__init__.py a/part/__main__.py",
    "python3 tools": "tools/__main__.py",
    "python3 a/part": "a/part/__main__.py",
    "node scripts/run": "scripts/run.js",
    "sh tools": "",
    "grep -m strip": "",
}


@pytest.mark.parametrize("key", ['filter "x"', "alias"])
def test_words_that_the_shell_computes_are_named(project: Path, key: str) -> None:
    for path in ("scripts/x", "scripts/run.js", "a b/y", "a/b/z", "strip.py", "tools/clean.py", "a/part/__init__.py"):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).touch()
    for path in ("tools/__init__.py", "tools/__main__.py", "a/part/__main__.py"):
        (project / path).touch()
    mark, name = ("!", "x") if key == "alias" else ("", "clean")

    found = {command: named(project, f'[{key}]\n\t{name} = "{mark}{command}"\n') for command in _COMPUTED}

    assert found == {command: _paths(expected) for command, expected in _COMPUTED.items()}


def _paths(expected: str) -> set[str]:
    return {expected} if expected.startswith("a b") else {os.path.normpath(path) for path in expected.split()}


def test_many_directories_and_words_are_looked_at_to_a_limit(project: Path) -> None:
    for number in range(20):
        (project / f"d{number}").mkdir()
    changes = "; ".join(f"cd d{number}" for number in range(20))
    words = " ".join(f"w{number}" for number in range(300))

    assert named(project, f'[filter "x"]\n\tclean = "{changes}; $({words} $$$$((((``"\n') == set()


def test_link_and_its_target_are_both_named(project: Path) -> None:
    (project / "real").mkdir()
    (project / "hooks").symlink_to("real")

    assert named(project, "[core]\n\thooksPath = hooks\n") == {"hooks", "real"}


def test_what_links_in_a_git_directory_lead_to_is_named(project: Path) -> None:
    git = project / ".git"
    for path in ("hooks", "info", "modules/a/hooks", "refs/heads"):
        (git / path).mkdir(parents=True)
    (git / "modules/a/HEAD").touch()
    (project / "tools").symlink_to("scripts")
    (project / "scripts").mkdir()
    (git / "hooks/pre-commit").symlink_to("../../tools/check")
    (git / "hooks/pre-push").symlink_to(project / "later")
    (git / "hooks/lib").symlink_to(project / "scripts")
    (git / "hooks/post-commit").symlink_to("/usr/bin/true")
    (git / "info/attributes").symlink_to("../../attributes")
    (git / "modules/a/hooks/pre-commit").symlink_to(project / "of-module")
    (git / "refs/heads/main").symlink_to(project / "data")
    (git / "hooks/commit-msg").symlink_to("../custom/check")
    (git / "hooks/update").symlink_to("commit-msg")
    (git / "modules/a/hooks/pre-push").symlink_to("../custom/check")

    assert named(project) == {
        *("tools", "scripts/check", "later", "attributes", "of-module"),
        *(".git/custom/check", ".git/modules/a/custom/check"),
    }


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[core]\n\thooksPath = .git/custom\n", ".git/custom"),
        ("[core]\n\thooksPath = .git/tooling\n", ".git/tooling"),  # a name like those with which git tries links
        ("[core]\n\thooksPath = .git/info/hooks\n", ".git/info/hooks"),
        ("[core]\n\thooksPath = .git/modules/a/b/custom\n", ".git/modules/a/b/custom"),
        ("[core]\n\thooksPath = .git/worktrees/w/custom\n", ".git/worktrees/w/custom"),
        ("[include]\n\tpath = custom/inc\n", ".git/custom/inc"),
        ("[core]\n\tfsmonitor = .git/custom/later\n", ".git/custom/later"),
        ("[alias]\n\tx = !.git/custom/program --all\n", ".git/custom/program"),
    ],
)
def test_what_git_obeys_in_its_own_directory_is_named(project: Path, text: str, path: str) -> None:
    git = project / ".git"
    for folder in ("custom", "modules/a/b", "worktrees/w"):
        (git / folder).mkdir(parents=True)
        (git / folder / "HEAD").touch()
    (git / "custom/program").touch()

    assert named(project, text) == {path}


@pytest.mark.parametrize(
    "path",
    [
        *("", "HEAD", "FETCH_HEAD", "index", "packed-refs", "refs/heads/main", "objects", "logs/HEAD", "info/exclude"),
        *("modules", "modules/a", "modules/a/b", "modules/a/b/HEAD", "modules/a/b/refs", "worktrees/w", "hooks/lib"),
        *("worktrees/w/HEAD", "config", "COMMIT_EDITMSG", "sequencer/todo", "lfs/objects", "rebase-merge/done"),
    ],
)
def test_what_git_writes_in_its_own_directory_is_not_named(project: Path, path: str) -> None:
    git = project / ".git"
    for folder in ("modules/a/b", "worktrees/w"):
        (git / folder).mkdir(parents=True)
        (git / folder / "HEAD").touch()
    (git / "HEAD").touch()

    assert named(project, f"[core]\n\thooksPath = .git/{path}\n\tfsmonitor = {git}/{path}\n") == set()


def test_what_git_obeys_in_a_git_directory_elsewhere_is_named(project: Path) -> None:
    (project / ".git").rmdir()
    main = _linked_worktree(project).parent.parent
    (main / "config").write_text(f"[core]\n\thooksPath = {main}/custom\n")

    found = named_paths(repositories.find(str(project)), [str(project)], "/none")

    assert found == (str(main / "custom"),)


@pytest.mark.parametrize("kind", ["repository", "worktree", "bare"])
def test_what_the_repository_above_obeys_in_a_subdirectory_is_named(project: Path, kind: str) -> None:
    git = _repository_above(project, kind)
    web = project / "web"
    (web / "scripts").mkdir(parents=True)
    (web / "clean.sh").touch()
    (git / "hooks").mkdir()
    (git / "hooks/pre-commit").symlink_to(web / "scripts/check")
    (git / "hooks/pre-push").symlink_to(project / "api/check")
    (git / "config").write_text(
        f'[core]\n\thooksPath = web/hooks\n[filter "x"]\n\tclean = web/clean.sh\n[include]\n\tpath = {web}/more\n'
        "[alias]\n\tx = !api/x\n\ty = !.git/custom/y\n"
    )
    (web / "more").write_text("[core]\n\tfsmonitor = ./web/monitor\n")

    assert _named_in(web) == {"scripts/check", "hooks", "clean.sh", "more", "monitor"}
    (project / "api").mkdir()
    (project / "api/x").touch()
    assert _named_in(project / "api", web) >= {"x", "check", "../web/hooks"}


def _repository_above(project: Path, kind: str) -> Path:
    """The git directory that has the configuration."""
    git = project / ".git"
    if kind == "worktree":
        git.rmdir()
        kept = _linked_worktree(project)
        return kept.parent.parent
    if kind == "bare":
        git.rmdir()
        (project / "HEAD").touch()
        (project / "objects").mkdir()
        return project
    return git


def _linked_worktree(project: Path) -> Path:
    """What a repository elsewhere keeps of its worktree at a path."""
    main = project.parent / "main" / ".git"
    kept = main / "worktrees" / "project"
    kept.mkdir(parents=True)
    (project / ".git").write_text(f"gitdir: {kept}\n")
    (kept / "gitdir").write_text(f"{project}/.git\n")
    (kept / "commondir").write_text("../..\n")
    (main / "objects").mkdir()
    (main / "HEAD").touch()
    return kept


def _named_in(*roots: Path, of: str = "/none") -> set[str]:
    paths = [str(root) for root in roots]
    found = named_paths([git for path in paths for git in repositories.find(path)], paths, of)
    return {os.path.relpath(path, roots[0]) for path in found}


def test_what_the_user_s_configuration_names_in_the_repository_above_is_named(project: Path) -> None:
    (project / "web").mkdir()
    (project.parent / ".gitconfig").write_text("[core]\n\thooksPath = web/hooks\n")

    assert _named_in(project / "web", of=str(project.parent)) == {"hooks", "web/hooks"}


def test_each_repository_above_counts(project: Path) -> None:
    (project.parent / ".git").mkdir()
    (project.parent / ".git" / "config").write_text("[core]\n\thooksPath = project/web/of-dot-files\n")
    (project / ".git" / "config").write_text("[core]\n\thooksPath = web/of-project\n")
    (project / "web" / ".git").mkdir(parents=True)
    (project / "web" / ".git" / "config").write_text("[core]\n\thooksPath = own\n")

    assert _named_in(project / "web") == {"of-dot-files", "of-project", "own"}


def test_a_repository_above_that_commands_can_make_is_none_of_the_user_s(project: Path) -> None:
    deep = project / "a/b/c/d/e"
    (deep.parent / ".git").mkdir(parents=True)
    (deep.parent / ".git" / "config").write_text("[core]\n\thooksPath = e/hooks\n")

    assert _named_in(project, deep) == set()


def test_many_repositories_leave_room_for_what_the_one_above_names(project: Path) -> None:
    web = project / "web"
    web.mkdir()
    (project / ".git" / "config").write_text("[core]\n\thooksPath = web/githooks\n")
    for number in range(100):
        git = web / f"A{number}" / ".git"
        git.mkdir(parents=True)
        (git / "config").write_text(f"[core]\n\thooksPath = {number}\n")

    assert "githooks" in _named_in(web)


@pytest.mark.parametrize("root", [".", "web"])
def test_the_configuration_of_a_worktree_names_its_own(project: Path, root: str) -> None:
    (project / ".git").rmdir()
    kept = _linked_worktree(project)
    (kept / "config.worktree").write_text("[core]\n\thooksPath = web/hooks\n")
    (project / "web").mkdir()

    assert _named_in(project / root) == {os.path.relpath(project / "web/hooks", project / root)}


def test_what_links_in_a_folder_of_hooks_elsewhere_lead_to_is_named(project: Path) -> None:
    hooks = project.parent / "hooks"
    hooks.mkdir()
    (hooks / "pre-commit").symlink_to(project / "scripts/check")
    (hooks / "pre-push").symlink_to("/usr/bin/true")

    assert named(project, of_user="[core]\n\thooksPath = ~/hooks\n") == {"scripts/check"}


def test_links_on_the_way_to_what_configuration_names_are_named(project: Path) -> None:
    (project / "tools").mkdir()
    (project / "t").symlink_to("tools")

    assert named(project, "[core]\n\thooksPath = t/hooks\n") == {"t/hooks", "t", "tools/hooks"}


@pytest.mark.parametrize("link", [".gitconfig", ".config/git/config", ".config/git", ".config"])
def test_the_users_own_configuration_in_a_project_is_named(project: Path, link: str) -> None:
    home, file = project.parent, ".gitconfig" if link == ".gitconfig" else ".config/git/config"
    (project / file).parent.mkdir(parents=True, exist_ok=True)
    (project / file).write_text("[init]\n\ttemplateDir = ~/project/template\n")
    (home / link).parent.mkdir(parents=True, exist_ok=True)
    (home / link).symlink_to(project / link)

    found = named_paths(repositories.find(str(project)), [str(project)], str(home))

    assert {file, "template"} <= _relative(found, project)


def test_links_in_a_template_of_the_users_elsewhere_are_followed(project: Path) -> None:
    hooks = project.parent / "template" / "hooks"
    hooks.mkdir(parents=True)
    (project / "t").symlink_to("scripts")
    (hooks / "pre-commit").symlink_to(project / "t/check")

    assert named(project, of_user="[init]\n\ttemplateDir = ~/template\n") == {"t", "scripts/check"}


def test_words_with_two_slashes_come_to_an_end(project: Path) -> None:
    alias = "[alias]\n\ttodo = \"!git grep -n '//TODO'\"\n"

    assert named(project, f"[core]\n\thooksPath = //srv/hooks\n{alias}", alias) == set()


def test_many_links_leave_room_for_what_configuration_names(project: Path) -> None:
    hooks = project / ".git/hooks"
    hooks.mkdir()
    for number in range(100):
        (hooks / f"dispatched-{number}").symlink_to("../../dispatch")
        (hooks / f"own-{number:03}").symlink_to(f"../../check-{number}")

    found = named(project, "[core]\n\thooksPath = githooks\n")

    assert {"githooks", "dispatch"} <= found


@pytest.mark.parametrize(
    "value", ["", ".", "..", "/", "~", "~root/x", "../../etc", ".git/hooks", "/etc/passwd", "%(prefix)/x"]
)
def test_what_is_not_in_the_project_or_guarded_anyway_is_not_named(project: Path, value: str) -> None:
    for section in ("[core]\n\thooksPath", "[core]\n\tfsmonitor"):
        assert named(project, f"{section} = {value}\n") == set()


def test_a_number_is_a_directory_of_hooks_and_switches_fsmonitor(project: Path) -> None:
    assert named(project, "[core]\n\thooksPath = 0\n") == {"0"}
    assert named(project, "[core]\n\tfsmonitor = 0\n") == set()


def _copies(project: Path, count: int) -> None:
    """Repositories at the top, as a command makes them."""
    for number in range(count):
        git = project / f"A{number}" / ".git"
        git.mkdir(parents=True)
        (git / "config").write_text("[core]\n\tbare = false\n")


@pytest.mark.parametrize("of_user", ["", "[core]\n\thooksPath = of-user\n"])
def test_many_repositories_leave_room_for_what_the_configuration_of_one_names(project: Path, of_user: str) -> None:
    _copies(project, 300)
    git = project / "pk" / "x" / ".git"
    git.mkdir(parents=True)
    (git / "config").write_text("[core]\n\thooksPath = githooks\n")

    assert "pk/x/githooks" in named(project, of_user=of_user)


@pytest.mark.parametrize(
    "text", ["[core\nhooksPath=x", "[include]\npath=config\n", "\0", '[include "', "[include]\n#path=x"]
)
def test_broken_configuration_names_nothing(project: Path, text: str) -> None:
    assert named(project, text) == set()


def test_hostile_configuration_names_a_bounded_number(project: Path) -> None:
    many = "".join(f"[include]\n\tpath = ../{number}\n" for number in range(500))
    for number in range(500):
        (project / str(number)).write_text(many)

    assert len(named(project, many)) == 64
    (project / ".git" / "config").unlink()
    (project / ".git" / "config").symlink_to("/dev/zero")
    assert named_paths(repositories.find(str(project)), [str(project)], "/none") == ()


def test_files_that_include_each_other_many_times_are_read_to_an_end(project: Path) -> None:
    for number in range(9):
        (project / str(number)).write_text(f"[include]\n\tpath = {number + 1}\n" * 20)
    (project / "9").write_text("[core]\n\thooksPath = hooks\n")

    assert named(project, "[include]\n\tpath = ../0\n") == {*map(str, range(10)), "hooks"}


def test_very_much_configuration_leaves_out_words_but_no_hooks(project: Path) -> None:
    hooks, words = "[core]\n\thooksPath = hooks\n", "/a " * 30_000
    (project / "tool").touch()

    assert named(project, f"[core]\n\tpager = {words}\n\teditor = ./tool\n{hooks}") == {"hooks"}


def test_many_links_among_hooks_and_directories_of_submodules_are_looked_at_to_a_limit(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repositories, "_MAX_HOOKS", 8)
    monkeypatch.setattr(repositories, "_MAX_INNER", 8)
    (project / ".git" / "hooks").mkdir()
    for number in range(20):
        (project / ".git" / "hooks" / f"h{number}").symlink_to(f"../../t{number}")
        module = project / ".git" / "modules" / f"m{number}"
        module.mkdir(parents=True)
        (module / "HEAD").touch()

    assert len(named(project)) == 8
    assert len(list(repositories.obeyed(str(project / ".git")))) <= 1 + 8


def needed(home: Path, text: str, *hidden: str, untrusted: Iterable[str] = ()) -> set[str]:
    """What the user's configuration shows of the home."""
    (home / ".gitconfig").write_text(text)
    found = needed_paths(str(home), [str(home / one) for one in untrusted], [str(home / one) for one in hidden])
    return _relative(found, home)


def test_git_needs_what_the_user_s_configuration_names(home: Path) -> None:
    for directory in (".hooks", ".template", ".more"):
        (home / directory).mkdir()
    for file in (".ignore", ".attributes", ".message", ".signers", ".tool"):
        (home / file).touch()
    (home / ".more" / "work").write_text("[include]\npath = deeper\n")
    (home / ".more" / "deeper").write_text("[core]\nhooksPath = ~/.hooks\n")

    assert needed(
        home,
        '[includeIf "gitdir:~/work/"]\npath = ~/.more/work\n[core]\nexcludesFile = ~/.ignore\n'
        f"attributesFile = {home}/.attributes\neditor = ~/.tool\n[commit]\ntemplate = ~/.message\n"
        '[init]\ntemplateDir = ~/.template\n[gpg "ssh"]\nallowedSignersFile = ~/.signers\n',
    ) == {
        *(".more/work", ".more/deeper", ".hooks", ".ignore", ".attributes", ".message", ".template", ".signers"),
    }


@pytest.mark.parametrize(
    "text",
    [
        "[include]\npath = ~/.keys/token\n",
        "[include]\npath = ~/.link/token\n",
        "[include]\npath = ~/.keys\n",
        "[core]\nhooksPath = ~/.keys\n",
        "[core]\nexcludesFile = .gitconfig\n",
        "[core]\nhooksPath = .missing\n",
        "[credential]\nhelper = store --file ~/.store\n",
        "[user]\nsigningKey = ~/.store\n",
        "[include\npath = ~/.store\n",
    ],
)
def test_git_needs_no_secrets_and_nothing_that_is_not_there(home: Path, text: str) -> None:
    (home / ".keys").mkdir()
    (home / ".keys" / "token").touch()
    (home / ".store").touch()
    (home / ".link").symlink_to(".keys")

    assert needed(home, text, ".keys") == set()


def test_configuration_that_commands_can_write_names_nothing(home: Path) -> None:
    (home / ".boto").touch()
    (home / "project" / "config").write_text("[include]\npath = ~/.boto\n")

    assert needed(home, "[include]\npath = project/config\n") == {"project/config", ".boto"}
    assert needed(home, "[include]\npath = project/config\n", untrusted=["project"]) == {"project/config"}
