"""Links in writable directories lead nowhere for one command, also for an ordinary user, and ssh works there."""

import os
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kaa.hands.confinement import kernel, linkless, mounts, namespaces
from kaa.hands.confinement.contract import ConfinementError
from tests.support.elsewhere import folder_elsewhere

_USER = 2

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become an ordinary user")


def as_ordinary_user(act: Callable[[], object]) -> None:
    """Do something in a process of an ordinary user, in a mount namespace of its own."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            namespaces.leave_mounts()
            mounts.make_private()
            os.setgroups([])
            os.setgid(_USER)
            os.setuid(_USER)
            kernel.prctl(kernel.PR_SET_DUMPABLE, 1)
            act()
            status = 0
        except ConfinementError:
            status = 77
        except BaseException:  # noqa: BLE001 - the parent fails
            traceback.print_exc()
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status == 77:
        pytest.skip("this kernel has no user namespaces")
    assert status == 0


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_elsewhere() as folder:
        folder.chmod(0o755)
        yield folder


def test_an_ordinary_user_follows_no_link_in_these_directories(folder: Path) -> None:
    project = folder / "project"
    (project / "deep").mkdir(parents=True)
    (folder / "key").write_text("canary")
    (project / "link").symlink_to("../key")
    (project / "up").symlink_to("..")
    (project / "deep" / "plain").write_text("plain")

    def act() -> None:
        linkless.refuse_links([str(project)], needed=True)
        assert (project / "deep" / "plain").read_text() == "plain"
        assert os.readlink(project / "link") == "../key"
        for path in (project / "link", project / "up" / "key", project / "deep" / ".." / "link"):
            with pytest.raises(OSError, match="Too many levels of symbolic links"):
                path.read_text()

    as_ordinary_user(act)
    assert (project / "link").read_text() == "canary"


def test_a_git_directory_elsewhere_has_no_links_either(folder: Path) -> None:
    repository, worktree = folder / "main" / ".git", folder / "w"
    (repository / "objects").mkdir(parents=True)
    (repository / "HEAD").touch()
    (repository / "FETCH_HEAD").symlink_to("../../key")
    (repository / "worktrees" / "w").mkdir(parents=True)
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {repository}/worktrees/w\n")
    (folder / "key").write_text("canary")

    def act() -> None:
        linkless.refuse_links([str(worktree)], needed=True)
        with pytest.raises(OSError, match="Too many levels of symbolic links"):
            (repository / "FETCH_HEAD").read_text()

    as_ordinary_user(act)


def test_where_only_a_user_namespace_helps_it_is_used_only_if_needed(folder: Path) -> None:
    (folder / "link").symlink_to("/etc/hostname")

    def act() -> None:
        before = os.readlink("/proc/self/ns/user")
        linkless.refuse_links([str(folder)], needed=False)
        assert os.readlink("/proc/self/ns/user") == before

    as_ordinary_user(act)


def test_files_that_the_configuration_of_ssh_includes_belong_to_the_user(folder: Path) -> None:
    (folder / "conf.d").mkdir()
    further = folder / "further.conf"
    further.write_text("User x\n")
    (folder / "conf.d" / "10-a.conf").write_text(f"Include {further}\n")
    (folder / "conf.d" / "20-b.conf").symlink_to("../linked")
    (folder / "linked").write_text("Port 1\n")
    configuration = folder / "ssh_config"
    configuration.write_text(f"Host *\n  include {folder}/conf.d/*.conf missing # no\n")
    included = [folder / "conf.d" / "10-a.conf", further, folder / "linked"]

    def act() -> None:
        namespaces.leave_mounts_as_user()
        mounts.follow()
        linkless.own_included_files(str(configuration))
        assert [path.stat().st_uid for path in included] == [_USER] * 3
        assert further.read_text() == "User x\n"
        assert configuration.stat().st_uid != _USER

    as_ordinary_user(act)
    assert sorted(linkless.included_files(str(configuration))) == sorted(map(str, included))
    assert further.stat().st_uid == 0


def test_a_file_that_includes_itself_is_no_endless_loop(tmp_path: Path) -> None:
    configuration = tmp_path / "ssh_config"
    configuration.write_text(f'Include={configuration}\nInclude "\n')

    assert linkless.included_files(str(configuration)) == [str(configuration)]
