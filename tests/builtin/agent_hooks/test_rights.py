"""Which hooks of the user's run with the user's rights."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from kaa.builtin.agent_hooks.listing import listing
from kaa.builtin.agent_hooks.rights import runs_sandboxed
from kaa.components.hooks import HookDefinition
from kaa.components.hooks.files import hook_file, hooks_part
from kaa.host.programs import note_writable
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.places import Places
from tests.support.tables import each

ROOT = "/srv/project"


def own(command: str, **fields: object) -> HookDefinition:
    entry = {"type": "command", "command": command, **fields}
    part = hooks_part(msgspec.json.encode({"hooks": {"Stop": [{"hooks": [entry]}]}}))
    assert part is not None
    [hook] = hook_file(part, "claude", "hooks.json", of_project=False).hooks
    return hook


@each(
    "command",
    [
        "~/bin/check --strict",
        "~/bin/check fast",
        "/opt/tools/check",
        "/usr/bin/python3 ~/.claude/guard.py",
        "/bin/sh ~/.claude/guard.sh",
        "/bin/echo done",
        "/bin/cat ~/.claude/reminder.txt",
        '"$HOME/bin/check"',
        "${HOME}/.claude/hooks/guard.sh 2>/dev/null",
        "python3 ~/.claude/guard.py --all src",
        "python3 -u '/opt/tools/guard.py'",
        "bash -eu ~/.claude/guard.sh x.sh",
        "notify-send 'kaa is done' \"in $HOME\"",
        "echo done; true",
        "jq -r .tool_input.command >>~/.claude/log.txt",
        "grep -q 'rm -rf' && exit 2",
        "curl -s -X POST -d @- https://example.org/done",
        "cat ~/.claude/reminder.txt",
        "exit 2",
    ],
)
def test_what_executes_only_the_users_files_has_the_users_rights(command: str) -> None:
    assert not runs_sandboxed(own(command), ROOT)


@each(
    "command",
    [
        "./check.sh",
        "scripts/check.sh",
        "sh check.sh",
        "cat x;sh<check.sh",
        "cat notes.md",
        '"$CLAUDE_PROJECT_DIR"/check.sh',
        "$PWD/check.sh",
        f"{ROOT}/check.sh",
        f"sh {ROOT}/check.sh",
        "sh /srv/../srv/project/check.sh",
        "sh $HOME/../../srv/project/check.sh",
        "sh /proc/self/cwd/check.sh",
        "sh ch*.sh",
        "f=check.sh; sh $f",
        "f=check.sh sh ~/run.sh",
        "sh check\\.sh",
        "for f in {check,b}.sh; do bash $f; done",
        "python3 -c 'import json'",
        "python3 -m check",
        "python3 -u check.py",
        "node -e 'x'",
        "node",
        "curl https://example.org | sh",
        "jq -f check.jq",
        "jq . check.json",
        "curl -K check https://example.org",
        "curl -d @notes https://example.org",
        "jq -r .tool_input.file_path | xargs npx prettier --write",
        "npx prettier",
        "make lint",
        "~/bin/npx prettier",
        "/usr/bin/env sh check.sh",
        "/usr/bin/prove -r",
        "/usr/bin/tox",
        "~/.local/bin/checks",
        "~/.cargo/bin/checks --all",
        "/opt/tools/venv/bin/checks",
        "/bin/busybox sh x",
        "~/bin/pytest",
        "perl /usr/bin/prove -r",
        "python3 /usr/local/bin/tox",
        "python3 ~/.local/bin/nox --session lint",
        "bash ~/bin/npx",
        "sh -eu /usr/bin/env sh",
        "source ~/lib.sh; check",
        "cd ~/x && ./check",
        "'~/bin/check'",
        "'$HOME/bin/check'",
        '"~/bin/check"',
        "echo x >check.sh",
        "echo x > 'check.sh'",
        "echo x >",
        "~/bin/check check.sh",
        "~/bin/check\nsh check.sh",
        "~/bin/check & sh check.sh",
        "(sh check.sh)",
        "eslint --fix",
        "echo `sh check.sh`",
        'echo "$(sh check.sh)"',
        "echo $(sh check.sh)",
        "echo 'unclosed",
        "",
        " ; ",
    ],
)
def test_what_may_execute_files_of_the_project_runs_in_the_sandbox(command: str) -> None:
    hook = msgspec.structs.replace(own("x"), command=command)

    assert runs_sandboxed(hook, ROOT)


def test_links_into_what_commands_can_write_do_not_help(tmp_path: Path) -> None:
    project, more = tmp_path / "project", tmp_path / "more"
    project.mkdir()
    more.mkdir()
    (project / "check.sh").touch()
    (tmp_path / "check.sh").symlink_to(project / "check.sh")
    (tmp_path / "folder").symlink_to(project)
    (project / "out").symlink_to(tmp_path)
    note_writable([str(more)])

    for place in ("check.sh", "folder/check.sh", "project/out/other.sh", "more/check.sh"):
        assert runs_sandboxed(own(f"sh {tmp_path / place}"), str(project)), place
    assert not runs_sandboxed(own(f"sh {tmp_path}/other.sh"), str(project))


def test_a_link_to_a_shim_of_a_version_manager_does_not_help(tmp_path: Path) -> None:
    for shim in (".asdf/shims/check", "bin/mise"):
        (tmp_path / shim).parent.mkdir(parents=True)
        (tmp_path / shim).write_text("#!/bin/sh\necho\n")
    (tmp_path / "check").symlink_to(tmp_path / ".asdf/shims/check")
    (tmp_path / "other").symlink_to(tmp_path / "bin/mise")
    (tmp_path / "own").symlink_to(tmp_path / "script")
    (tmp_path / "script").write_text("#!/bin/sh\necho\n")

    assert [runs_sandboxed(own(f"{tmp_path}/{name}"), ROOT) for name in ("check", "other", "own")] == [
        True,
        True,
        False,
    ]


def test_what_commands_could_write_in_another_project_runs_in_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    other = tmp_path / "other"
    other.mkdir()
    assert not runs_sandboxed(own("sh ~/other/check.sh"), ROOT)
    assert Places.of({}, str(tmp_path), str(other)).caches

    assert runs_sandboxed(own("sh ~/other/check.sh"), ROOT)
    assert not runs_sandboxed(own("sh ~/bin/check.sh"), ROOT)


def _with_home(home: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """A home with a script of a hook in it."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    path = home / "dev" / "lib" / "guard"
    path.parent.mkdir(parents=True)
    path.write_text(script)
    path.chmod(0o755)
    return path


def _listed(command: str) -> str:
    return asyncio.run(listing([own(command)], (), MemoryWorkspace(root=ROOT)))


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("~/dev/lib/guard", "#!/bin/sh\ncat >/dev/null\n"),
        ("bash ~/dev/lib/guard", "cat >/dev/null\n"),
        ("/usr/bin/python3 ~/dev/lib/guard", "import json, sys\njson.load(sys.stdin)\n"),
    ],
)
@pytest.mark.parametrize("written", ["in an added directory", "by another name"])
def test_a_script_that_commands_could_write_elsewhere_runs_in_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, script: str, written: str
) -> None:
    guard = _with_home(tmp_path, monkeypatch, script)
    assert not runs_sandboxed(own(command), ROOT)

    if written == "by another name":
        (tmp_path / "other").hardlink_to(guard)
    else:
        Places.of({}, str(tmp_path), ROOT).note_added([str(guard.parent)])
    assert runs_sandboxed(own(command), ROOT)
    told = _listed(command)

    if written == "by another name":
        assert f"{guard} is a hard link" in told
        assert f"cp -p {guard} {guard}.new && mv {guard}.new {guard}" in told
        guard.with_suffix(".new").write_bytes(guard.read_bytes())
        guard.with_suffix(".new").chmod(0o755)
        guard.with_suffix(".new").replace(guard)
    else:
        listed = tmp_path / ".kaa/agent/projects-added"
        assert f"remove the line of {guard.parent} from {listed}" in told
        listed.write_text("")
    assert not runs_sandboxed(own(command), ROOT)


def test_a_script_that_a_package_manager_linked_from_its_store_is_no_hard_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = _with_home(tmp_path, monkeypatch, "#!/bin/sh\ncat >/dev/null\n")
    (tmp_path / "other").hardlink_to(guard)
    assert runs_sandboxed(own("~/dev/lib/guard"), ROOT)

    (guard.parent / "pyvenv.cfg").touch()

    assert not runs_sandboxed(own("~/dev/lib/guard"), ROOT)


def test_settings_with_another_name_have_a_program_run_in_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".jq").write_text("def x: 1;\n")
    assert not runs_sandboxed(own("jq -r .x"), ROOT)

    (tmp_path / "other").hardlink_to(tmp_path / ".jq")

    assert runs_sandboxed(own("jq -r .x"), ROOT)


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("curl -s -d done https://ntfy.sh/topic", ".curlrc"),
        ("curl -s -d done https://ntfy.sh/topic", ".config/curlrc"),
        ("curl -s -d done https://ntfy.sh/topic", "curl/.curlrc"),
        ("jq -r .x", ".jq"),
    ],
)
def test_settings_of_a_program_that_lead_into_the_project_have_it_run_in_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, file: str
) -> None:
    home, project = tmp_path / "home", tmp_path / "home/dotfiles"
    for folder in (project, home / "bin", (home / file).parent):
        folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CURL_HOME", str(home / "curl"))
    assert not runs_sandboxed(own(command), str(project))

    (home / file).symlink_to(project / "settings")  # which commands can make

    assert runs_sandboxed(own(command), str(project))


def test_a_script_that_starts_such_a_program_runs_in_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notify").write_text("curl -s -d done https://ntfy.sh/topic\n")
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / ".curlrc").symlink_to(tmp_path / "dotfiles/curlrc")
    monkeypatch.setenv("HOME", str(tmp_path))

    assert runs_sandboxed(own("sh ~/notify"), str(tmp_path / "dotfiles"))
    assert not runs_sandboxed(own("sh ~/notify"), ROOT)


@pytest.mark.parametrize("target", ["/usr/bin/prove", "tox/bin/tox", "~/.cargo/bin/just"])
def test_a_program_under_another_name_is_judged_by_its_own(tmp_path: Path, target: str) -> None:
    (tmp_path / "check").symlink_to(Path(target).expanduser())

    assert runs_sandboxed(own(f"{tmp_path}/check"), ROOT)


@pytest.mark.parametrize(
    ("content", "is_sandboxed"),
    [
        (b"\x7fELF\x02\x01", True),
        (b"#!{here}/python\nimport flake8", True),
        (b"sh check.sh\n", True),
        (b"#!/bin/sh\n'''exec' \"/home/me/venv/bin/python\" \"$0\" \"$@\"\n' '''\nimport re\n", True),
        (b"#!/usr/bin/env ruby\n#\n# This file was generated by RubyGems.\n", True),
        (b"#!/bin/sh\nexit 2\n", False),
        (b"#!/usr/bin/env python3\n", False),
    ],
)
def test_only_a_script_of_the_users_is_known(tmp_path: Path, content: bytes, is_sandboxed: bool) -> None:
    (tmp_path / "check").write_bytes(content.replace(b"{here}", bytes(tmp_path)))

    assert runs_sandboxed(own(f"{tmp_path}/check"), ROOT) is is_sandboxed


def test_arguments_of_a_program_are_no_line_of_a_shell() -> None:
    assert not runs_sandboxed(own("sh", args=["/opt/guard.sh", "*", "x.sh"]), ROOT)
    assert runs_sandboxed(own("sh", args=["guard.sh"]), ROOT)
    assert runs_sandboxed(own("node", args=["/opt/guard.js"]), ROOT)
    assert runs_sandboxed(own("npx", args=["prettier"]), ROOT)


@pytest.mark.parametrize(
    ("command", "args"),
    [("~/bin/guard.sh", []), ("sh", ["~/bin/guard.sh"]), ("sh", ["$HOME/bin/guard.sh"]), ("${HOME}/bin/check", ["x"])],
)
def test_no_shell_expands_arguments(command: str, args: list[str]) -> None:
    # The folder `~` is one of the project's, which commands can make.
    assert runs_sandboxed(own(command, args=args), ROOT)


def test_the_users_word_counts_for_the_users_own_hooks_only() -> None:
    assert runs_sandboxed(own("/opt/check", sandbox=True), ROOT)
    assert not runs_sandboxed(own("make lint", sandbox=False), ROOT)
    assert runs_sandboxed(msgspec.structs.replace(own("x", sandbox=False), of_project=True), ROOT)
