from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.hands.policy import Policy
from kaa.workspace.blocked import Blocked, BlockedKind, Stopped
from kaa.workspace.sandbox.denials import Denials

_POLICY = Policy(
    tier="full",
    mode="workspace-write",
    writable=("/p",),
    temporary="/home/me/.cache/kaa/tmp/1",
    cache="/home/me/.cache/kaa/caches/p",
    hidden=("/home/me/.ssh", "/home/me/.*_history"),
    shown=("/home/me/.ssh/config",),
)
_READ_ONLY = "Read-only file system"


def test_it_is_said_that_kaa_runs_from_there() -> None:
    denials = _denials(executed=("/p", "/p/.venv", "/usr"))
    path = "/p/.venv/lib/python3.11/site-packages/six.py"

    (blocked,) = denials.in_output(f"ERROR: [Errno 30] Read-only file system: '{path}'", "/p")

    assert blocked == Blocked("kaa", path)
    assert "kaa itself runs from it. Use another virtual environment" in blocked.text
    assert denials.of_write("/p/src/main.py") is None


def test_skills_of_the_user_are_no_code() -> None:
    denials = _denials(executed=("/p/skills", "/p/.venv"), obeyed=("/p/skills",))

    (blocked,) = denials.in_output("touch: cannot touch '/p/skills/a/SKILL.md': Read-only file system", "/p")

    assert blocked == Blocked("protected", "/p/skills/a/SKILL.md")


def _denials(**changes: Any) -> Denials:
    return Denials(_POLICY._replace(**changes), "/p", "/home/me")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("touch: cannot touch '/etc/x': Read-only file system", Blocked("write", "/etc/x")),
        ("bash: line 1: /etc/x: Read-only file system", Blocked("write", "/etc/x")),
        ("/bin/bash: line 1: .git/foo: Read-only file system", Blocked("git", "/p/.git/foo")),
        ("/bin/bash: line 1: /etc/foo: Read-only file system", Blocked("write", "/etc/foo")),
        ("/usr/bin/ld: cannot open output file /opt/a.out: Read-only file system", Blocked("write", "/opt/a.out")),
        ("bash: line 1: ../x: Read-only file system", Blocked("write", "/x")),
        ("OSError: [Errno 30] Read-only file system: '/usr/lib/x.py'", Blocked("write", "/usr/lib/x.py")),
        ("Error: EROFS: read-only file system, open '/home/me/.npmrc2'", Blocked("write", "/home/me/.npmrc2")),
        ("mkdir: cannot create directory \u2018/opt/x\u2019: Read-only file system", Blocked("write", "/opt/x")),
        ("touch: cannot touch '~/x': Read-only file system", Blocked("write", "/home/me/x")),
        ("fatal: Unable to create '/p/.git/index.lock': Read-only file system", Blocked("git", "/p/.git/index.lock")),
        (
            "error: could not lock config file .git/config: Read-only file system",
            Blocked("protected", "/p/.git/config"),
        ),
        ("mv: cannot move '.git' to 'git2': Device or resource busy", Blocked("git", "/p/.git")),
        ("mv: cannot move 'a' to '.git': Device or resource busy", Blocked("git", "/p/.git")),
        (
            "sh: 1: cannot create .githooks/pre-commit: Read-only file system",
            Blocked("protected", "/p/.githooks/pre-commit"),
        ),
        ("touch: cannot touch '.vscode/x': Read-only file system", Blocked("protected", "/p/.vscode/x")),
        ("cat: /home/me/.ssh/id_rsa: Permission denied", Blocked("read", "/home/me/.ssh/id_rsa")),
        ("cat: /home/me/.bash_history: Permission denied", Blocked("read", "/home/me/.bash_history")),
        ("curl: (6) Could not resolve host: example.com", Blocked("network")),
        ("getaddrinfo EAI_AGAIN registry.npmjs.org", Blocked("network")),
    ],
)
def test_what_programs_say_of_the_sandbox_is_understood(line: str, expected: Blocked) -> None:
    assert _denials().in_output(f"before\n{line}\nafter\n", "/p") == (expected,)


@pytest.mark.parametrize(
    "line",
    [
        "cat: secret: Permission denied",  # an ordinary mode
        "cat: /etc/shadow2: Permission denied",
        "bash: ./script: Permission denied",
        "touch: cannot touch 'build/x': Permission denied",
        "cat: /home/me/.ssh/config: Permission denied",  # an exception
        "FAILED tests/test_x.py - AssertionError: permission",
        "mount: /tmp/x: Read-only file system",
        "3 passed",
    ],
)
def test_what_happens_on_any_machine_is_not_put_down_to_the_sandbox(line: str) -> None:
    assert _denials().in_output(line, "/p") == ()


@pytest.mark.parametrize(
    "line",
    [
        "/bin/bash: line 1: {}: Read-only file system",
        "/bin/bash: {}: Read-only file system",
        "dash: 1: cannot create {}: Read-only file system",
        "zsh:1: read-only file system: {}",
        "tee: {}: Read-only file system",
        "{}: Read-only file system",  # ed
        "cp: cannot create regular file '{}': Read-only file system",
        "chmod: changing permissions of \u2018{}\u2019: Read-only file system",
        "mv: cannot move 'new' to '{}': Device or resource busy",
        "mv: cannot move '{}' to 'old': Device or resource busy",
        "rm: cannot remove '{}': Device or resource busy",
        "Cannot edit x: failed to rename work file 'XX7' to '{}': Device or resource busy, <> line 1.",  # perl
        "OSError: [Errno 30] Read-only file system: '{}'",
        "OSError: [Errno 16] Device or resource busy: 'new' -> '{}'",
        "OSError: [Errno 30] Read-only file system: 'new' -> '{}'",
        "Error: EROFS: read-only file system, open '{}'",
        "Error: EBUSY: resource busy or locked, rename 'new' -> '{}'",
        "open {}: read-only file system",  # Go
        "main.go:7: rename new {}: device or resource busy",
        "rename {} new: device or resource busy",
        "error: failed to write `{}`\n\nCaused by:\n  Read-only file system (os error 30)",  # cargo
        "x.rb:1:in `initialize': Read-only file system @ rb_sysopen - {} (Errno::EROFS)",
        "java.io.FileNotFoundException: {} (Read-only file system)",
        "Opening output file: Read-only file system, {}",  # Emacs
        '"{}" E212: Can\'t open file for writing',  # vim
        "error: unable to unlink old '{}': Device or resource busy",  # git
        "error: unable to create file {}: Read-only file system",
    ],
)
@pytest.mark.parametrize("name", [".envrc", "mise.toml", "/p/.envrc", "./.envrc"])
def test_the_protected_file_is_named_and_not_the_program(line: str, name: str) -> None:
    path = str(Path("/p", name))

    stopped: Stopped = "git" if line.startswith("error: unable") else ""
    expected = Blocked("protected", path, stopped=stopped)
    assert _denials().in_output(f"before\n{line.format(name)}\nafter\n", "/p") == (expected,)
    assert ("`git stash -u` sets that aside" in expected.text) == (stopped == "git")


def test_a_program_that_names_only_itself_does_not_become_the_path() -> None:
    for line in ("/bin/bash: line 1: foo: Read-only file system", "fatal: Read-only file system"):
        assert _denials().in_output(line, "/p") == (Blocked("write"),)


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("sed -i s/a/b/ .envrc", (".envrc",)),
        ("sed -i s/a/b/ ./.envrc && sed -i s/a/b/ .mcp.json", (".envrc", ".mcp.json")),
        ("ls -A | xargs sed -i s/a/b/", ()),
    ],
)
def test_what_a_temporary_file_was_to_replace_is_named(tmp_path: Path, command: str, named: tuple[str, ...]) -> None:
    for name in (".envrc", ".mcp.json", "other"):
        (tmp_path / name).touch()
    line = "sed: cannot rename ./sedX7Yz: Device or resource busy"

    found = _denials(writable=(str(tmp_path),)).in_output(line, str(tmp_path), command)

    expected = {Blocked("protected", str(tmp_path / name)) for name in named} or {Blocked("protected")}
    assert set(found) == expected
    (tmp_path / ".mcp.json").unlink()
    assert _denials(writable=(str(tmp_path),)).in_output(line, str(tmp_path)) == (
        Blocked("protected", str(tmp_path / ".envrc")),
    )


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("rm -rf node_modules", "rm: cannot remove 'node_modules/hook/run': Device or resource busy"),
        ("mv node_modules old", "mv: cannot move 'node_modules' to 'old': Device or resource busy"),
        ("npm ci", "npm error EBUSY: resource busy or locked, rmdir '{}/node_modules/hook'"),
        ("git pull", "error: unable to unlink old 'node_modules/hook/run': Device or resource busy"),
        ("sed -i s/a/b/ node_modules/hook/run", "sed: cannot rename node_modules/hook/sedX: Device or resource busy"),
    ],
)
def test_what_a_hook_of_the_users_is_a_link_to_is_named_where_it_cannot_be_removed(
    tmp_path: Path, command: str, line: str
) -> None:
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "node_modules" / "hook").mkdir(parents=True)
    (tmp_path / "node_modules" / "hook" / "run").touch()
    (tmp_path / "node_modules" / "hook" / "other").touch()
    (tmp_path / ".git" / "hooks" / "pre-commit").symlink_to("../../node_modules/hook/run")
    denials = Denials(Policy("full", "workspace-write", writable=(str(tmp_path),)), str(tmp_path), "/home/me")

    (blocked,) = denials.in_output(line.format(tmp_path), str(tmp_path), command)

    assert (blocked.kind, blocked.what) == ("protected", str(tmp_path / "node_modules/hook/run"))
    assert blocked.stopped == ("" if "sed" in command else "git" if "git" in command else "removal")
    assert ("remove what is beside it" in blocked.text) == (blocked.stopped == "removal")


def test_what_the_repository_above_names_is_protected(tmp_path: Path) -> None:
    root = _project(tmp_path)
    (tmp_path / ".git" / "config").write_text("[core]\n\thooksPath = src/hooks\n")
    (tmp_path / "src" / "hooks").mkdir()
    (tmp_path / "src" / "hooks" / "pre-commit").touch()
    denials = _denials(writable=(f"{root}/src",))

    found = denials.in_output("bash: line 1: hooks/pre-commit: Read-only file system", f"{root}/src")

    assert found == (Blocked("protected", f"{root}/src/hooks/pre-commit"),)
    assert denials.of_named(f"{root}/src/hooks/pre-commit") is not None


@pytest.mark.parametrize(
    "line",
    ["rm: cannot remove '{}': Device or resource busy", "mv: cannot move 'new' to '{}': Device or resource busy"],
)
def test_the_project_is_looked_at_once_for_all_lines_of_an_output(tmp_path: Path, line: str) -> None:
    root = _project(tmp_path)
    denials = _denials(writable=(root,))
    (tmp_path / "later").touch()

    def stopped_at(denials: Denials) -> set[str]:
        return {found.what for found in denials.in_output(line.format("later"), root, "mv new later")}

    before = stopped_at(denials)
    (tmp_path / ".git" / "config").write_text("[core]\n\thooksPath = later\n")

    assert stopped_at(denials) == before
    assert before != stopped_at(_denials(writable=(root,))) == {f"{root}/later"}


def test_git_s_configuration_is_named_from_a_subdirectory_and_says_what_can_be_done(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    denials = Denials(_POLICY._replace(writable=(str(tmp_path),), git_writable=True), str(tmp_path), "/home/me")

    (blocked,) = denials.in_output(
        "error: could not write config file .git/config: Device or resource busy", str(tmp_path / "sub")
    )

    assert blocked == Blocked("protected", str(tmp_path / ".git" / "config"))
    assert "git executes what its configuration and hooks say" in blocked.text
    assert "The tools write and edit ask the user" in blocked.text


@pytest.mark.parametrize(
    ("line", "kind", "path"),
    [
        ("bash: line 1: .envrc: Read-only file system", "protected", ".envrc"),
        ("mv: cannot move 'new' to '.envrc': Device or resource busy", "protected", ".envrc"),
        ("fatal: Unable to create '{}/.git/index.lock': Read-only file system", "git", ".git/index.lock"),
        ("OSError: [Errno 30] Read-only file system: '.githooks/pre-commit'", "protected", ".githooks/pre-commit"),
        ("touch: cannot touch '/etc/x': Read-only file system", "write", "/etc/x"),
        ("cat: /home/me/.ssh/id_rsa: Permission denied", "read", "/home/me/.ssh/id_rsa"),
    ],
)
def test_what_was_blocked_in_a_command_that_ended_well_is_told_too(
    tmp_path: Path, line: str, kind: BlockedKind, path: str
) -> None:
    root = _project(tmp_path)

    found = _denials(writable=(root,)).in_passing(f"x\n{line.format(root)}\ndone\n", root)

    assert found == (Blocked(kind, str(Path(root, path))),)


@pytest.mark.parametrize(
    "line",
    [
        "mkdir: cannot create directory 'src': File exists",
        "touch: cannot touch 'src/x': Read-only file system",  # can be written
        "bash: line 1: .mise.toml: Read-only file system",  # does not exist: the kernel does not hold it
        "bash: line 1: sub/.vscode/x: Read-only file system",
        "fatal: Unable to create '/elsewhere/.git/config': File exists",
        "sh: can't open .envrc: No such file or directory",
        "build.log:7:bash: line 1: .envrc: Read-only file system",  # grep
        "build.log:bash: line 1: .envrc: Read-only file system",
        "12:bash: line 1: .envrc: Read-only file system",
        "12-bash: line 1: .envrc: Read-only file system",
        "+bash: line 1: .envrc: Read-only file system",  # diff
        "> bash: line 1: .envrc: Read-only file system",
        '    assert say("bash: line 1: .envrc: Read-only file system")',  # source code
        "    'rm: cannot remove .envrc: Read-only file system',",
        "`bash: .envrc: Read-only file system`",
        "See `bash: .envrc: Read-only file system`.",
        "2026-01-01 12:00:00 bash: .envrc: Read-only file system",
        "[2026-01-01T12:00:00] bash: .envrc: Read-only file system",
        "Read-only file system",
        "fatal: Read-only file system",
        "could not lock config file: Read-only file system",
        "cat: src/x: Permission denied",
        "curl: (6) Could not resolve host: example.com",  # the proxy knows better
    ],
)
def test_what_a_command_shows_from_a_log_or_could_do_is_not_put_down_to_the_sandbox(tmp_path: Path, line: str) -> None:
    root = _project(tmp_path)

    assert _denials(writable=(root,)).in_passing(f"x\n{line}\ndone\n", root) == ()


@pytest.mark.parametrize("name", [".", "/p", "..", "/"])
def test_a_mount_point_that_cannot_be_removed_is_not_a_protected_name(name: str) -> None:
    assert _denials().in_passing(f"rm: cannot remove '{name}': Device or resource busy", "/p") == ()
    assert all(one.kind == "write" for one in _denials().in_passing(f"rm: cannot remove '{name}': {_READ_ONLY}", "/p"))


@pytest.mark.parametrize(
    "command",
    [
        "git switch other",
        "cd src && git switch other",
        "cd {} && git switch other",
        "cd $PWD && git switch other",
        'cd "$(git rev-parse --show-toplevel)" && git switch other',
        "cd src && cd .. && git switch other",
        "pushd src && git switch other",
        "git switch -C new other",
        "git -C $(pwd)/src switch other",
    ],
)
@pytest.mark.parametrize(
    "line", ["unable to unlink old '.envrc': Device or resource busy", f"unable to create file .envrc: {_READ_ONLY}"]
)
def test_git_names_from_the_top_what_it_cannot_replace(tmp_path: Path, command: str, line: str) -> None:
    root = _project(tmp_path)
    expected = (Blocked("protected", str(Path(root, ".envrc")), stopped="git"),)
    denials = _denials(writable=(root,))

    for start in (root, str(Path(root, "src"))):
        told = (f"error: {line}\nSwitched\n", start, command.format(root))
        assert (denials.in_passing(*told), denials.in_output(*told)) == (expected, expected)


def test_landlock_does_not_hold_protected_names(tmp_path: Path) -> None:
    root = _project(tmp_path)
    denials = _denials(writable=(root,), tier="landlock")

    assert denials.in_passing("bash: line 1: .envrc: Permission denied", root) == ()
    assert denials.in_passing("bash: line 1: /etc/x: Permission denied", root) == (Blocked("write", "/etc/x"),)


def _project(folder: Path) -> str:
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("[core]\n\thooksPath = .githooks\n")
    (folder / ".githooks").mkdir()
    (folder / ".githooks" / "pre-commit").touch()
    (folder / ".envrc").touch()
    (folder / ".vscode").mkdir()
    (folder / "src").mkdir()
    return str(folder)


def test_paths_are_relative_to_the_directory_of_the_command() -> None:
    text = "touch: cannot touch 'x/../../y': Read-only file system"

    assert _denials().in_output(text, "/p/sub/dir") == (Blocked("protected", "/p/sub/y"),)
    assert _denials().in_output(text, "/p") == (Blocked("write", "/y"),)


@pytest.mark.parametrize(
    ("command", "name", "expected"),
    [
        ("cd sub/dir && echo x > ../../../y", "../../../y", Blocked("write", "/y")),
        ("cd sub && cd dir && echo x > ../../../y", "../../../y", Blocked("write", "/y")),
        ("(cd sub && make); echo x > ../y", "../y", Blocked("write", "/y")),
        ('cd "sub/dir" && git status; echo x >> .envrc', ".envrc", Blocked("protected", "/p/sub/dir/.envrc")),
        ("git -C sub config x y", ".vscode/a", Blocked("protected", "/p/sub/.vscode/a")),
        ("cd .. && sed -i s/a/b/ q/n.py", "q/sedX7Yz", Blocked("write", "/q/sedX7Yz")),
        ('cd "$there" && echo x > ../y', "../y", Blocked("write")),
        ("cd - && echo x > ../y", "../y", Blocked("write")),
        ('cd "$there" && echo x > /y', "/y", Blocked("write", "/y")),
    ],
)
def test_paths_are_relative_to_the_directory_that_the_command_went_to(
    command: str, name: str, expected: Blocked
) -> None:
    text = f"bash: line 1: {name}: Read-only file system"

    assert _denials().in_output(text, "/p", f"bash -c {command}") == (expected,)


def test_in_read_only_mode_the_project_may_not_be_written_either() -> None:
    text = "touch: cannot touch 'x': Read-only file system"

    assert _denials(mode="read-only").in_output(text, "/p") == (Blocked("read-only", "/p/x"),)


def test_where_landlock_says_permission_denied_it_counts() -> None:
    text = "touch: cannot touch '/etc/x': Permission denied"

    assert _denials(tier="landlock").in_output(text, "/p") == (Blocked("write", "/etc/x"),)


@pytest.mark.parametrize(
    "text",
    [
        "Error: connect EACCES 1.1.1.1:80 - Local (undefined:undefined)",
        "Error: listen EACCES: permission denied 127.0.0.1:3000",
        "curl: (7) Failed to connect to 1.1.1.1 port 80 after 0 ms: Couldn't connect to server",
        "Failed to establish a new connection: [Errno 13] Permission denied')': /simple/x/",
        '  File "/usr/lib/python3.11/socket.py", line 232, in __init__\n    _socket.socket.__init__(self, family)\n'
        "PermissionError: [Errno 13] Permission denied",
    ],
)
def test_a_connection_that_fails_is_the_sandbox_s_doing_only_where_none_can_be_made(text: str) -> None:
    assert _denials(tier="landlock").in_output(text, "/p") == (Blocked("outside", "Connecting to the network"),)
    assert _denials(tier="landlock", network="host").in_output(text, "/p") == ()
    assert _denials().in_output(text, "/p") == ()


@pytest.mark.parametrize("git_writable", [False, True])
def test_what_git_executes_is_not_said_to_need_git_writes(git_writable: bool) -> None:
    denials = _denials(git_writable=git_writable)

    assert (denials.of_write("/p/.git/index") is None) == git_writable
    assert denials.of_write("/p/.git/hooks/pre-commit") == Blocked("protected", "/p/.git/hooks/pre-commit")
    assert denials.of_write("/p/.git/modules/a/config") == Blocked("protected", "/p/.git/modules/a/config")


def test_the_same_is_reported_once_and_no_more_than_a_few() -> None:
    lines = [f"touch: cannot touch '/etc/x{number % 50}': Read-only file system" for number in range(200)]

    found = _denials().in_output("\n".join(lines), "/p")

    assert len(found) == len(set(found)) == 5


@given(st.text(max_size=300))
def test_no_output_whatever_breaks_it(text: str) -> None:
    _denials().in_output(f"{text}: Read-only file system {text}", "/p")
    _denials().in_passing(f"{text}: Read-only file system {text}", "/p")


@pytest.mark.parametrize(
    "piece", ["a", "a@", "-a", "/a ", "./", "\u2018", "\"'", " permission denied", "EROFS /a b/c\n", "connect "]
)
def test_output_made_to_take_long_does_not(piece: str) -> None:
    """What takes time in the square of its length would take minutes here, and hold up all of kaa."""
    for tier in ("full", "landlock"):
        text = piece * (100_000 // len(piece)) + " permission denied"
        _denials(tier=tier).in_output(text, "/p")
        _denials(tier=tier).in_passing(text, "/p")


@pytest.mark.parametrize(
    "line",
    [
        "cat: {home}/.tool/config: No such file or directory",
        "sh: 1: cannot create {home}/.tool/log.txt: Directory nonexistent",
        "FileNotFoundError: [Errno 2] No such file or directory: '{home}/.tool/deep/er'",
        "Error: ENOENT: no such file or directory, open '{home}/.tool'",
        "error: ~/.tool/config does not exist",
    ],
)
def test_what_the_home_does_not_show_is_said_to_be_hidden_and_not_missing(tmp_path: Path, line: str) -> None:
    home = tmp_path.resolve()
    (home / ".tool").mkdir()
    policy = _POLICY._replace(unlisted=(f"{home}/.*",), listed=(f"{home}/.gitconfig", f"{home}/.other/bin"))
    denials = Denials(policy, "/p", str(home))

    assert denials.in_output(line.format(home=home), "/p") == (Blocked("read", f"{home}/.tool"),)
    for seen in (".gitconfig", ".missing", ".other/bin/x"):
        assert denials.in_output(line.format(home=home).replace(".tool", seen), "/p") == ()


def test_a_repository_elsewhere_that_git_writes_open_is_said_to_need_them(tmp_path: Path) -> None:
    main, tree = tmp_path / "main", tmp_path / "tree"
    own = main / ".git" / "worktrees" / "tree"
    for directory in (tree, own, main / ".git" / "objects", main / ".git" / "refs"):
        directory.mkdir(parents=True)
    (main / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (own / "gitdir").write_text(f"{tree}/.git\n")
    (own / "commondir").write_text("../..\n")
    (tree / ".git").write_text(f"gitdir: {own}\n")
    line = "fatal: Unable to create '{}': Read-only file system"
    lock, config = f"{own}/index.lock", f"{main}/.git/config"

    denials = _denials(writable=(str(tree),))
    assert denials.in_output(line.format(lock), str(tree)) == (Blocked("git", lock),)
    assert denials.in_passing(line.format(lock), str(tree)) == (Blocked("git", lock),)
    assert denials.of_write(config) == Blocked("protected", config)
    assert _denials(writable=(str(tree),), git_writable=True).of_write(lock) is None
    assert _denials(writable=(str(tree),), mode="read-only").of_write(lock) != Blocked("git", lock)
    (own / "gitdir").write_text("/another/.git\n")  # it does not name this worktree
    assert _denials(writable=(str(tree),)).of_write(lock) != Blocked("git", lock)


def test_ssh_is_said_to_need_the_outside_and_not_a_host() -> None:
    text = (
        "ssh: Could not resolve hostname github.com: Temporary failure in name resolution\n"
        "fatal: Could not read from remote repository.\n"
    )

    (blocked,) = _denials().in_output(text, "/p")

    assert blocked.text == "ssh to github.com, which needs your keys, cannot be done inside the sandbox."


def test_a_signature_that_fails_is_said_to_need_the_outside() -> None:
    text = "error: gpg failed to sign the data:\ngpg: no secret key\nfatal: failed to write commit object\n"

    (blocked,) = _denials(git_writable=True).in_output(text, "/p")

    assert blocked.text == "Signing with your key, which is hidden, cannot be done inside the sandbox."


def test_a_repository_above_the_project_is_said_to_be_outside() -> None:
    text = "fatal: Unable to create '/repo/.git/index.lock': Read-only file system\n"

    (blocked,) = _denials(git_writable=True).in_output(text, "/p")

    assert blocked.text == (
        "Writing to /repo/.git/index.lock is blocked: this repository is not in the project. (/add-dir /repo"
        " permits it for this session; or start kaa there.)"
    )
