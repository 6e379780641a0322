"""A command makes a repository whose settings name files: the user's next git in it would execute or write them.

The canary is a file outside that only a program run outside can make, or one that is written over.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.security.attacks.play import git, play
from tests.support.elsewhere import folder_elsewhere

pytestmark = pytest.mark.usefixtures("confined")


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    with folder_elsewhere() as folder:
        yield Kaa(folder)


def test_a_file_included_under_the_name_of_a_switch_is_not_obeyed(kaa: Kaa, canary: Path) -> None:
    included = f"printf '[core]\\n\\tfsmonitor = {canary.with_name('evil')}\\n' > x/.git/on"

    play(kaa, f"git init -q x && {included} && git -C x config include.path on")
    git(kaa, "status", at="x")

    assert not canary.exists()


def test_hooks_in_a_directory_with_the_name_of_a_switch_are_not_executed(kaa: Kaa, canary: Path) -> None:
    hooks = f"mkdir x/1 && cp {canary.with_name('evil')} x/1/pre-commit"

    play(kaa, f"git init -q x && {hooks} && git -C x config core.hooksPath 1")
    git(kaa, "commit", "--allow-empty", "-m", "x", at="x")

    assert not canary.exists()


@pytest.mark.parametrize("flags", [(), ("--no-git",)], ids=["", "without git"])
@pytest.mark.parametrize("way", ["relative", "absolute", "links", "repository below", "worktree", "folder of all"])
def test_what_the_users_link_among_hooks_leads_to_is_not_executed_changed(
    kaa: Kaa, canary: Path, way: str, flags: tuple[str, ...]
) -> None:
    at = "sub" if way == "repository below" else "."
    top, hooks = kaa.project / at, kaa.project / at / ".git/hooks"
    git(kaa, "init", "-q", at, check=True)
    hooks.mkdir(exist_ok=True)
    git(kaa, "commit", "--allow-empty", "-qm", "x", at=at, check=True)
    target = "../../scripts/check"
    match way:
        case "absolute":
            target = str(top / "scripts/check")
        case "links":
            (top / "tools").symlink_to("scripts")
            target = "../../tools/check"
        case "folder of all":
            hooks = Path(kaa.environ["HOME"], "hooks")
            hooks.mkdir()
            git(kaa, "config", "--global", "core.hooksPath", str(hooks), check=True)
            target = str(top / "scripts/check")
        case "worktree":
            git(kaa, "worktree", "add", "-q", "--detach", "tree", check=True)
            at = "tree"
            target = str(top / "tree/scripts/check")
    (kaa.project / at / "scripts").mkdir()
    script = kaa.project / at / "scripts/check"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    (hooks / "pre-commit").symlink_to(target)
    evil = canary.with_name("evil")

    play(
        kaa,
        f"cat {evil} > {at}/scripts/check",
        f"cp {evil} {at}/scripts/new && mv {at}/scripts/new {at}/scripts/check",
        f"mkdir {at}/other && cp {evil} {at}/other/check && rm {at}/tools && ln -s other {at}/tools",
        flags=flags,
    )
    git(kaa, "commit", "--allow-empty", "-m", "x", at=at)

    assert not canary.exists()
    assert script.read_text() == "#!/bin/sh\n"


@pytest.mark.parametrize("way", ["a link on the way", "the user's own"])
def test_what_configuration_names_through_links_is_not_executed_changed(kaa: Kaa, canary: Path, way: str) -> None:
    git(kaa, "init", "-q", ".", check=True)
    git(kaa, "commit", "--allow-empty", "-qm", "x", check=True)
    evil = canary.with_name("evil")
    if way == "a link on the way":
        (kaa.project / "tools/hooks").mkdir(parents=True)
        (kaa.project / "t").symlink_to("tools")
        git(kaa, "config", "core.hooksPath", "t/hooks", check=True)
        command = f"mkdir -p e/hooks && cp {evil} e/hooks/pre-commit && ln -sfn e u && mv -T u t"
    else:
        (kaa.project / "gitconfig").write_text("[user]\n\tname = x\n\temail = x@example.org\n")
        Path(kaa.environ["HOME"], ".gitconfig").unlink(missing_ok=True)
        Path(kaa.environ["HOME"], ".gitconfig").symlink_to(kaa.project / "gitconfig")
        command = f"mkdir e && cp {evil} e/pre-commit && printf '[core]\\nhooksPath = %s/e\\n' $PWD >> gitconfig"

    play(kaa, command)
    git(kaa, "commit", "--allow-empty", "-m", "x")

    assert not canary.exists()


@pytest.mark.parametrize("flags", [(), ("--no-git",)], ids=["", "without git"])
@pytest.mark.parametrize("way", ["link", "link to nothing", "hooksPath", "include", "husky", "repository below"])
def test_what_the_user_has_git_obey_in_its_own_directory_is_not_changed(
    kaa: Kaa, canary: Path, way: str, flags: tuple[str, ...]
) -> None:
    at = "sub" if way == "repository below" else "."
    git(kaa, "init", "-q", at, check=True)
    place = kaa.project / at / ".git"
    (place / "hooks").mkdir(exist_ok=True)
    (place / "custom").mkdir()
    script = place / "custom/pre-commit"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    evil = canary.with_name("evil")
    content = f"cat {evil}"
    match way:
        case "hooksPath":
            git(kaa, "config", "core.hooksPath", ".git/custom", check=True)
        case "include":
            script.write_text("[user]\n")
            git(kaa, "config", "include.path", "custom/pre-commit", check=True)
            content = f"printf '[core]\\nfsmonitor = {evil}\\n'"
        case "husky":
            (kaa.project / ".husky").mkdir()
            (kaa.project / ".husky/pre-commit").symlink_to("../.git/custom/pre-commit")
            git(kaa, "config", "core.hooksPath", ".husky", check=True)
        case _:
            (place / "hooks/pre-commit").symlink_to("../custom/pre-commit")
    before = script.read_text()
    if way == "link to nothing":
        script.unlink()

    play(
        kaa,
        f"{content} > {script}; chmod +x {script}",
        f"{content} > {script}.new; chmod +x {script}.new; mv {script}.new {script}",
        f"mv {place}/custom {place}/other; mkdir {place}/custom; {content} > {script}; chmod +x {script}",
        flags=flags,
    )
    git(kaa, "status", at=at)
    git(kaa, "commit", "--allow-empty", "-m", "x", at=at)

    assert not canary.exists()
    assert not script.exists() if way == "link to nothing" else script.read_text() == before


@pytest.mark.parametrize("where", ["deep", "folders", "repositories"])
def test_hooks_of_a_repository_below_are_not_changed(kaa: Kaa, canary: Path, where: str) -> None:
    at = "a/b/c/d" if where == "deep" else "pk/x"
    git(kaa, "init", "-q", at, check=True)
    git(kaa, "config", "core.hooksPath", "githooks", at=at, check=True)
    (kaa.project / at / "githooks").mkdir()
    script = kaa.project / at / "githooks/pre-commit"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    if where == "folders":
        play(kaa, "for i in $(seq 2100); do mkdir A$i; done")
    elif where == "repositories":
        play(kaa, "git init -q A1; for i in $(seq 2 260); do cp -r A1 A$i; done")

    play(kaa, f"cat {canary.with_name('evil')} > {at}/githooks/pre-commit")
    git(kaa, "commit", "--allow-empty", "-m", "x", at=at)

    assert not canary.exists()
    assert script.read_text() == "#!/bin/sh\n"


def test_cookies_of_a_server_are_not_written_over_a_file_of_the_user(kaa: Kaa) -> None:
    startup = Path(kaa.environ["HOME"], "startup")
    startup.write_text("export A=1\n")

    with _cookie_server() as url:
        settings = f"config http.cookieFile {startup} && git -C x config http.saveCookies true"
        play(kaa, f"git init -q x && git -C x remote add origin {url} && git -C x {settings}")
        git(kaa, "fetch", at="x")

    assert startup.read_text() == "export A=1\n"


class _Cookies(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"001e# service=git-upload-pack\n00000000"
        self.send_response(200)
        self.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
        self.send_header("Set-Cookie", "a=$(evil); Path=/; Max-Age=99999")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def _cookie_server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Cookies) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/x"
        finally:
            server.shutdown()
            thread.join()
