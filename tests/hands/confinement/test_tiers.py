"""What the tiers hold, tried from inside a slot on this machine's kernel."""

import os
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from kaa.hands.confinement import landlock
from kaa.hands.confinement.bwrap import bwrap_view
from kaa.hands.policy import Policy, Tier
from tests.hands.confinement.arena import Arena, Report
from tests.support.patience import HANG_SECONDS

_WRITE_STOPPED = {"EROFS", "EACCES"}


def probe(arena: Arena, policy: Policy, *attempts: tuple[object, ...], late: dict[str, str] | None = None) -> Report:
    """As the tier's hands are started; skips visibly where the machine lacks what the tier needs."""
    wrapper: tuple[str, ...] = ()
    mounts: Sequence[tuple[str, str]] = ()
    if policy.tier == "bwrap":
        program = shutil.which("bwrap")
        if program is None:
            pytest.skip("needs bubblewrap")
        arguments, mounts = bwrap_view(policy, str(arena.home))
        wrapper = (program, *arguments)
        for path, content in (late or {}).items():  # bwrap gets there now; from inside, nobody could write them
            Path(path).parent.mkdir(exist_ok=True)
            Path(path).write_text(content)
        late = None
    report = arena.probe(policy, *attempts, wrapper=wrapper, mounts=mounts, late=late)
    if report.refused:
        pytest.skip(f"this machine cannot hold tier {policy.tier}: {report.refused}")
    assert report.failed_checks == []
    return report


@pytest.fixture(params=["full", "bwrap", "landlock"])
def tier(request: pytest.FixtureRequest) -> Tier:
    chosen: Tier = request.param
    if chosen == "landlock" and landlock.abi() == 0:
        pytest.skip("needs Landlock")
    return chosen


def test_project_is_writable_and_the_rest_is_not(someone: Arena, tier: Tier) -> None:
    here, outside = someone.project / "new", someone.outside / "new"

    report = probe(
        someone,
        someone.policy(tier),
        ("write", str(here)),
        ("write", str(someone.cache / "new")),
        ("write", str(outside)),
        ("write", str(someone.outside / "file")),
        ("rename", str(here), str(outside)),
        ("link", str(someone.outside / "file"), str(someone.project / "link")),
        ("read", str(someone.outside / "file")),
    )

    *ok, made, changed, moved, linked, read = report.outcomes
    assert ok == ["ok", "ok"]
    assert made in _WRITE_STOPPED
    assert changed in _WRITE_STOPPED
    assert moved in _WRITE_STOPPED | {"EXDEV"}
    assert linked in _WRITE_STOPPED | {"EXDEV"}
    assert read == "outside"
    assert (someone.outside / "file").read_text() == "outside"
    assert here.read_text() == "touched\n"
    assert not outside.exists()


def test_read_only_leaves_temporary_files_and_caches(someone: Arena, tier: Tier) -> None:
    temporary = str(someone.temporary) if tier == "landlock" else "/tmp"

    report = probe(
        someone,
        someone.policy(tier, mode="read-only"),
        ("write", str(someone.project / "file")),
        ("write", f"{temporary}/new"),
        ("write", str(someone.cache / "new")),
    )

    assert report.outcomes[0] in _WRITE_STOPPED
    assert report.outcomes[1:] == ["ok", "ok"]
    assert (someone.temporary / "new").exists()


def test_secrets_cannot_be_read(someone: Arena, tier: Tier) -> None:
    single, linked = someone.home / ".netrc", someone.home / "link"
    single.write_text("password")
    linked.symlink_to(someone.secret)
    hidden = (str(someone.home / ".ss?"), str(single))

    report = probe(
        someone,
        someone.policy(tier, hidden=hidden),
        ("read", str(someone.secret)),
        ("read", str(single)),
        ("read", str(linked)),
        ("list", str(someone.secret.parent)),
    )

    as_root_in_bwrap = tier == "bwrap" and not someone.ordinary
    assert report.outcomes[0] == ("ENOENT" if as_root_in_bwrap else "EACCES")
    assert report.outcomes[1] == "EACCES"
    assert report.outcomes[2] == report.outcomes[0]
    assert report.outcomes[3] == {"landlock": "id"}.get(tier, "" if as_root_in_bwrap else "EACCES")


def test_secret_behind_a_symlink_is_hidden_where_it_is(someone: Arena, tier: Tier) -> None:
    real = someone.outside / "keys"
    real.write_text("secret")
    (someone.home / ".netrc").symlink_to(real)

    report = probe(someone, someone.policy(tier, hidden=(str(someone.home / ".netrc"),)), ("read", str(real)))

    assert report.outcomes == ["EACCES"]


def test_exceptions_from_what_is_hidden_can_be_read(someone: Arena, tier: Tier) -> None:
    known = someone.secret.with_name("known_hosts")
    known.write_text("hosts")

    report = probe(
        someone,
        someone.policy(tier, shown=(str(known),)),
        ("read", str(known)),
        ("read", str(someone.secret)),
    )

    assert report.outcomes[0] == "hosts"
    assert report.outcomes[1] in {"EACCES", "ENOENT"}


def test_cache_below_something_hidden_is_writable(someone: Arena, tier: Tier) -> None:
    policy = someone.policy(tier, hidden=(str(someone.base / "kaa"),))

    report = probe(someone, policy, ("write", str(someone.cache / "new")), ("list", str(someone.cache)))

    assert report.outcomes == ["ok", "new"]


def test_network_is_loopback_only(someone: Arena, tier: Tier) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        report = probe(
            someone,
            someone.policy(tier),
            ("connect", port),
            ("listen", 0),
            ("socket", socket.AF_INET, socket.SOCK_DGRAM, 0),
            ("socket", socket.AF_PACKET, socket.SOCK_RAW, 0),
            ("socket", 40, socket.SOCK_STREAM, 0),  # AF_VSOCK, which no network namespace isolates
            ("pair",),
        )

    connected, listened, datagrams, *raw, pair = report.outcomes
    if tier == "landlock":
        assert {connected, listened, datagrams} == {"EACCES"}
    else:
        assert connected == "ECONNREFUSED"
        assert listened.isdecimal()
        assert datagrams == "ok"
    assert raw == ["EACCES", "EACCES"]
    assert pair == "x"


def test_host_network_reaches_the_host(someone: Arena, tier: Tier) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        report = probe(someone, someone.policy(tier, network="host"), ("connect", listener.getsockname()[1]))

    assert report.outcomes == ["ok"]


def test_home_as_project_is_warned_of_and_keeps_its_secrets(someone: Arena) -> None:
    report = probe(
        someone,
        someone.policy("full", writable=(str(someone.home),)),
        ("write", str(someone.home / "new")),
        ("read", str(someone.secret)),
        ("rename", str(someone.secret.parent), str(someone.home / "moved")),
    )

    assert report.outcomes == ["ok", "EACCES", "EBUSY"]
    assert any("write your whole home directory" in warning for warning in report.warnings)


def test_sockets_of_daemons_are_hidden(someone: Arena, tier: Tier) -> None:
    path = someone.project / "daemon.sock"
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(str(path))
        daemon.listen()

        report = probe(someone, someone.policy(tier), ("call daemon", str(path)))

        daemon.setblocking(False)
        with pytest.raises(BlockingIOError):
            daemon.accept()
    assert report.outcomes[0] in {"ECONNREFUSED", "EACCES"}


def test_secrets_that_come_later_into_the_home_are_not_seen(someone: Arena, tier: Tier) -> None:
    home = someone.home
    replaced, new, deeper = home / ".netrc", home / ".aws" / "credentials", home / ".config" / "gh" / "hosts.yml"
    for directory in (home / ".config" / "tool", home / "notes"):
        directory.mkdir(parents=True)
    for path in (replaced, home / ".profile", home / ".config" / "tool" / "settings"):
        path.write_text("old")
    (home / ".link").symlink_to(".profile")
    (home / "empty").touch(mode=0o600)
    late = {str(path): "secret" for path in (replaced, new, deeper)} | {str(home / "notes" / "later"): "a note"}

    report = probe(
        someone,
        someone.policy(tier, hidden=(str(replaced), str(new.parent), str(deeper.parent), str(home / ".*_history"))),
        *[("read", str(path)) for path in (replaced, new, deeper)],
        *[
            ("read", str(home / path))
            for path in ("notes/later", ".profile", ".link", ".config/tool/settings", "empty")
        ],
        ("write", str(home / "new")),
        late=late,
    )

    *secrets, later, profile, linked, settings, empty, written = report.outcomes
    assert secrets == ["EACCES"] + ["EACCES" if tier == "landlock" else "ENOENT"] * 2
    assert (later, profile, linked, settings, empty) == ("a note", "old", "old", "old", "")
    assert written in _WRITE_STOPPED


def test_what_comes_later_is_hidden_too(someone: Arena) -> None:
    replaced, new, inside = someone.home / ".netrc", someone.home / ".aws" / "credentials", someone.project / ".env"
    replaced.write_text("old")
    daemon, ours = someone.outside / "daemon", someone.project / "sub" / "daemon"
    policy = someone.policy("full", hidden=(str(replaced), str(new.parent), str(someone.project / ".en?")))

    report = someone.probe(
        policy,
        *[("read", str(path)) for path in (replaced, new, inside)],
        *[("call daemon", str(path)) for path in (daemon, ours)],
        late={str(path): "secret" for path in (replaced, new, inside)} | {str(path): "" for path in (daemon, ours)},
    )

    if report.refused:
        pytest.skip(f"this machine cannot hold tier full: {report.refused}")
    assert report.outcomes[0] == report.outcomes[2] == "EACCES"
    assert report.outcomes[1] in {"EACCES", "ENOENT"}
    assert report.outcomes[3:] == ["ECONNREFUSED"] * 2
    assert replaced.read_text() == new.read_text() == inside.read_text() == "secret"


def test_processes_outside_are_out_of_reach(someone: Arena, tier: Tier) -> None:
    with subprocess.Popen(["sleep", "60"], env={"CANARY": "yes"}, user=someone.user) as process:
        try:
            report = probe(
                someone,
                someone.policy(tier),
                ("kill", process.pid),
                ("read", f"/proc/{process.pid}/environ"),
                ("read", f"/proc/{process.pid}/mem"),
            )
        finally:
            process.kill()

    signalled, environment, memory = report.outcomes
    if tier != "landlock" or landlock.abi() >= landlock.SCOPES_ABI:
        assert signalled in {"ESRCH", "EPERM"}
    assert environment in {"ENOENT", "EACCES"}
    assert memory in {"ENOENT", "EACCES"}


def test_slots_have_no_way_to_more_rights(someone: Arena, tier: Tier) -> None:
    new_user_namespace = 0x10000000
    status = "grep -E '^(CapEff|CapPrm|CapInh|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status"

    report = probe(
        someone,
        someone.policy(tier),
        ("system call", "unshare", new_user_namespace),
        ("system call", "setns", 0, 0),
        ("system call", "chroot", 0),
        ("system call", "io_uring_setup", 0, 0),
        ("system call", "openat2", 0, 0, 0, 0),
        ("system call", "bpf", 0, 0, 0),
        ("shell", status),
        ("shell", "ulimit -c"),
    )

    *calls, status, cores = report.outcomes
    assert calls == ["EPERM", "EPERM", "EPERM", "ENOSYS", "ENOSYS", "EPERM"]
    sets = dict(line.split(":\t") for line in status.splitlines())
    kept = "0000000000000000" if someone.ordinary else "000000000000001b"
    assert sets["CapEff"] == sets["CapPrm"] == kept
    assert sets["CapInh"] == sets["CapAmb"] == "0000000000000000"
    assert (sets["NoNewPrivs"], sets["Seccomp"]) == ("1", "2")
    assert cores == "0\n"


def test_set_user_id_files_cannot_be_made(someone: Arena, tier: Tier) -> None:
    file, new = someone.project / "file", someone.project / "new"

    report = probe(
        someone,
        someone.policy(tier),
        ("chmod", str(file), 0o4755),
        ("create", str(new), 0o4755),
        ("chmod", str(file), 0o755),
    )

    assert report.outcomes == ["EPERM", "EPERM", "ok"]
    assert not new.exists()
    assert file.stat().st_mode & 0o7777 == 0o755


def test_git_is_read_only_until_it_is_allowed(someone: Arena) -> None:
    git = _repository(someone.project)
    nested = _repository(someone.project / "vendor" / "library")
    attempts = [
        ("write", str(path))
        for path in (git / "index", git / "hooks" / "new", git / "config", nested / "index", nested / "config")
    ]

    closed = probe(someone, someone.policy("full"), *attempts)
    opened = probe(someone, someone.policy("full", git_writable=True), *attempts)

    assert closed.outcomes == ["EROFS"] * 5
    assert opened.outcomes == ["ok", "EROFS", "EROFS", "ok", "EROFS"]


def test_protected_paths_cannot_be_moved_away_with_what_holds_them(someone: Arena) -> None:
    nested = _repository(someone.project / "vendor" / "library")
    _repository(someone.project)
    project = str(someone.project)
    free = someone.project / "vendor" / "library" / "code"
    free.write_text("code")

    report = probe(
        someone,
        someone.policy("full", git_writable=True),
        ("rename", f"{project}/vendor", f"{project}/other"),
        ("rename", f"{project}/vendor/library", f"{project}/other"),
        ("rename", f"{project}/.git", f"{project}/other"),
        ("rename", str(nested / "hooks"), f"{project}/hooks"),
        ("rename", str(free), f"{project}/code"),
        ("link", f"{project}/code", str(free)),
    )

    assert report.outcomes == ["EBUSY"] * 4 + ["ok"] * 2


def test_names_that_other_programs_obey_are_protected(someone: Arena) -> None:
    (someone.project / ".vscode").mkdir()
    (someone.project / ".envrc").write_text("")
    project = str(someone.project)

    report = probe(
        someone,
        someone.policy("full"),
        ("write", f"{project}/.vscode/tasks.json"),
        ("write", f"{project}/.envrc"),
        ("rename", f"{project}/.vscode", f"{project}/other"),
    )

    assert report.outcomes == ["EROFS", "EROFS", "EBUSY"]


def test_worktree_is_usable_when_git_is(someone: Arena) -> None:
    repository = someone.outside / "repository"
    _git(someone.outside, "init", "-q", str(repository))
    _git(repository, "commit", "-q", "--allow-empty", "-m", "first")
    worktree = someone.project / "tree"
    _git(repository, "worktree", "add", "-q", str(worktree))
    commit = f"cd {worktree} && git -c user.name=a -c user.email=b commit -q --allow-empty -m x 2>&1 && echo done"
    policy = someone.policy("full", writable=(str(worktree),))
    hook = ("write", str(repository / ".git" / "hooks" / "post-commit"))
    worktrees_hook = ("write", str(repository / ".git" / "worktrees" / "tree" / "commondir"))

    closed = probe(someone, policy, ("shell", commit))
    opened = probe(someone, policy._replace(git_writable=True), ("shell", commit), hook, worktrees_hook)

    assert "done" not in closed.outcomes[0]
    assert opened.outcomes == ["done\n", "EROFS", "EROFS"]


def test_project_below_tmp_is_there(someone: Arena, tmp_path: Path) -> None:
    if not tmp_path.is_relative_to("/tmp"):
        pytest.skip("temporary files of these tests are not below /tmp")
    project = tmp_path / "project"
    project.mkdir()
    if someone.user is not None:
        pytest.skip("an ordinary user cannot reach root's temporary files")

    report = probe(
        someone,
        someone.policy("full", writable=(str(project),)),
        ("write", str(project / "new")),
        ("list", str(tmp_path)),
    )

    assert report.outcomes == ["ok", "project"]
    assert (project / "new").exists()


def test_system_looks_as_programs_need_it(someone: Arena) -> None:
    report = probe(
        someone,
        someone.policy("full"),
        ("list", "/dev"),
        ("shell", "echo x > /dev/null && head -c 1 /dev/zero | wc -c"),
        ("shell", "ls /proc | grep -c '^[0-9]'"),
        ("write", "/dev/shm/new"),
        ("write", "/dev/new"),
        ("write", "/run/new"),
        ("write", "/var/tmp/new"),
    )

    devices, zero, processes, *writes = report.outcomes
    assert devices == "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero"
    assert zero == "1\n"
    assert int(processes) <= 5
    assert writes[0] == writes[3] == "ok"
    assert set(writes[1:3]) <= _WRITE_STOPPED


def test_kernel_settings_are_out_of_reach_for_root(root: Arena) -> None:
    before = Path("/proc/sys/kernel/core_pattern").read_text()

    report = probe(
        root,
        root.policy("full"),
        ("write", "/proc/sys/kernel/core_pattern"),
        ("write", "/proc/sysrq-trigger"),
        ("read", "/proc/kcore"),
        ("read", "/proc/keys"),
        ("write", "/sys/kernel/uevent_helper"),
    )

    assert set(report.outcomes[:2]) <= _WRITE_STOPPED | {"ENOENT"}  # not every kernel has them all
    assert set(report.outcomes[2:4]) <= {"EACCES", "ENOENT"}
    assert report.outcomes[4] in _WRITE_STOPPED | {"ENOENT"}
    assert Path("/proc/sys/kernel/core_pattern").read_text() == before


def test_root_works_on_files_of_others(root: Arena) -> None:
    others = root.project / "others"
    others.write_text("")
    others.chmod(0o600)
    os.chown(others, 12345, 12345)

    report = probe(
        root,
        root.policy("full"),
        ("write", str(others)),
        ("chown", str(root.project / "file"), 12345),
        ("chmod", str(others), 0o640),
    )

    assert report.outcomes == ["ok", "ok", "ok"]
    assert (root.project / "file").stat().st_uid == 12345


def test_number_of_processes_is_limited(someone: Arena) -> None:
    host = Path("/proc/sys/kernel/pid_max").read_text()

    report = probe(someone, someone.policy("full"), ("shell", "ulimit -u"), ("read", "/proc/sys/kernel/pid_max"))

    limits = {report.outcomes[0].strip(), report.outcomes[1].strip()}
    if report.features["process limit"] == "no":
        pytest.skip("root's processes can be limited from Linux 6.14 on")
    assert report.features["process limit"] in limits
    assert Path("/proc/sys/kernel/pid_max").read_text() == host


def test_later_hands_share_the_network(someone: Arena) -> None:
    probe(someone, someone.policy("full"))  # skips where there would be nothing to share
    mine, theirs = socket.socketpair()
    with mine, theirs, someone.lending(someone.policy("full"), lend=theirs.fileno()):
        theirs.close()
        mine.settimeout(HANG_SECONDS)
        _, (listens, *lent), _, _ = socket.recv_fds(mine, 1, 4)
        with socket.socket(fileno=listens) as listener:
            policy, port = someone.policy("full", git_writable=True), listener.getsockname()[1]
            joined = someone.probe(policy, ("connect", port), join=tuple(lent))
            alone = someone.probe(policy, ("connect", port))
        for descriptor in lent:
            os.close(descriptor)

    assert joined.failed_checks == []
    assert (joined.outcomes, alone.outcomes) == (["ok"], ["ECONNREFUSED"])


def test_file_systems_mounted_in_the_project_are_writable(root: Arena) -> None:
    volume = root.project / "with blank" / "volume"
    volume.mkdir(parents=True)
    if subprocess.run(["mount", "-t", "tmpfs", "none", str(volume)], check=False).returncode:
        pytest.skip("root may not mount here")
    try:
        report = probe(root, root.policy("full"), ("write", str(volume / "new")))
        seen = (volume / "new").exists()
    finally:
        subprocess.run(["umount", str(volume)], check=True)

    assert report.outcomes == ["ok"]
    assert seen


def _repository(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    _git(path, "init", "-q")
    git = path / ".git"
    (git / "index").touch()
    (git / "hooks").mkdir(exist_ok=True)
    return git


def _git(where: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=b@c")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *identity, *arguments], cwd=where, check=True, env=environment)


def test_names_that_other_programs_replace_are_held_again(someone: Arena) -> None:
    existing = [someone.project / ".mcp.json", someone.project / ".git" / "config", someone.project / ".vscode" / "x"]
    secret, new = someone.project / ".env", someone.project / ".envrc"
    for path in (*existing, secret):
        path.parent.mkdir(exist_ok=True)
        path.write_text("old")
    (someone.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    policy = someone.policy("full", git_writable=True, hidden=(str(secret),))
    replaced = [*existing, secret, new]

    report = someone.probe(
        policy,
        *[("write", str(path)) for path in (*existing, new)],
        ("read", str(secret)),
        ("write", str(someone.project / ".git" / "HEAD")),
        late={str(path): "new" for path in replaced},
    )

    if report.refused:
        pytest.skip(f"this machine cannot hold tier full: {report.refused}")
    assert set(report.outcomes[:-2]) <= _WRITE_STOPPED
    assert report.outcomes[-2:] == ["EACCES", "ok"]
    assert {path.read_text() for path in replaced} == {"new"}


def test_what_kaa_runs_from_cannot_be_changed(someone: Arena, tier: Tier) -> None:
    environment = someone.project / ".venv"
    packages = environment / "lib" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "module.py").write_text("honest\n")
    (environment / "pyvenv.cfg").touch()
    extension = someone.project / "tools" / "extension.py"
    extension.parent.mkdir()
    extension.write_text("honest\n")
    policy = someone.policy(tier, executed=(str(environment), str(packages), str(extension)))
    attempts = (
        ("write", str(packages / "module.py")),
        ("write", str(packages / "evil.pth")),
        ("write", str(environment / "pyvenv.cfg")),
        ("rename", str(packages), str(someone.project / "packages")),
        ("rename", str(environment), str(someone.project / "environment")),
        ("write", str(extension)),
        ("rename", str(extension.parent), str(someone.project / "old")),
        ("write", str(someone.project / "new")),
    )

    if tier == "landlock":
        assert f"kaa itself runs from {environment}" in someone.probe(policy, *attempts).refused
        return
    report = probe(someone, policy, *attempts)

    assert set(report.outcomes[:-1]) <= _WRITE_STOPPED | {"EBUSY", "EXDEV"}
    assert report.outcomes[-1] == "ok"
    assert {path.read_text() for path in (packages / "module.py", extension)} == {"honest\n"}
    assert f"kaa itself runs from {environment}" in " ".join(report.warnings)


@pytest.mark.parametrize("mode", ["workspace-write", "read-only"])
def test_a_copy_is_seen_in_the_place_of_a_directory(someone: Arena, tier: Tier, mode: str) -> None:
    """Whatever happens to the files that were copied: replacing one would remove a mount over it."""
    if tier == "landlock":
        pytest.skip("needs mounts")
    copy, live = someone.base / "copy", someone.project / "live"
    for folder in (copy / "code", copy / "live", someone.project / "code", live):
        folder.mkdir(parents=True)
    (copy / "code/part").write_text("approved")
    (someone.project / "code/part").write_text("planted")
    (live / "data").write_text("as it is")
    replaced = ((str(someone.project), str(copy)), (str(live), str(live)))

    report = probe(
        someone,
        someone.policy(tier, mode=mode, replaced=replaced),
        ("read", str(someone.project / "code/part")),
        ("read", str(live / "data")),
        ("write", str(live / "new")),
        ("write", str(someone.project / "code/part")),
        ("write", str(someone.project / "code/new")),
        ("write", str(someone.project / "new")),
    )

    *seen, written, changed, made, beside = report.outcomes
    assert seen == ["approved", "as it is"]
    assert (written == "ok") is (mode == "workspace-write")
    assert {changed, made, beside} <= _WRITE_STOPPED


@pytest.mark.parametrize("kind", ["link", "gone"])
def test_nothing_is_shown_in_a_copy_through_a_link_that_came_meanwhile(someone: Arena, kind: str) -> None:
    """A command can exchange a directory between the copy and the mount; that is no reason for a weaker tier."""
    copy, live = someone.base / "copy", someone.project / "code/.ssh"
    (copy / "code/.ssh").mkdir(parents=True)
    if kind == "link":
        (someone.project / "code").symlink_to(someone.home)
    replaced = ((str(someone.project), str(copy)), (str(live), str(live)))

    report = someone.probe(someone.policy("full", replaced=replaced), ("read", str(live / "id")))

    if report.refused:
        pytest.skip(f"this machine cannot hold tier full: {report.refused}")
    assert str(live) in report.changed
    assert report.outcomes == []


def test_skills_of_the_user_in_the_project_cannot_be_changed(someone: Arena, tier: Tier) -> None:
    skills = someone.project / "skills"
    (skills / "tidy").mkdir(parents=True)
    policy = someone.policy(tier, executed=(str(skills),), obeyed=(str(skills),))
    attempts = (("write", str(skills / "tidy" / "SKILL.md")), ("write", str(someone.project / "new")))
    told = f"kaa obeys {skills}"

    if tier == "landlock":
        assert told in someone.probe(policy, *attempts).refused
        return
    report = probe(someone, policy, *attempts)

    assert report.outcomes[0] in _WRITE_STOPPED
    assert report.outcomes[1] == "ok"
    assert [told in warning for warning in report.warnings if "kaa itself" in warning or told in warning] == [True]
