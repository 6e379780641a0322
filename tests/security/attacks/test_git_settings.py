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
@pytest.mark.parametrize("place", ["in repositories", "folder of all"])
def test_what_the_users_link_among_hooks_leads_to_is_not_executed_changed(
    kaa: Kaa, canary: Path, place: str, flags: tuple[str, ...]
) -> None:
    top, evil = kaa.project, canary.with_name("evil")
    git(kaa, "init", "-q", ".", check=True)
    git(kaa, "commit", "--allow-empty", "-qm", "x", check=True)
    if place == "folder of all":
        hooks = Path(kaa.environ["HOME"], "hooks")
        git(kaa, "config", "--global", "core.hooksPath", str(hooks), check=True)
        links = {hooks / "pre-commit": (str(top / "scripts/check"), "scripts/check")}
    else:
        git(kaa, "worktree", "add", "-q", "--detach", "tree", check=True)
        git(kaa, "init", "-q", "sub", check=True)
        (top / "tools").symlink_to("scripts")
        links = {
            top / ".git/hooks/pre-commit": ("../../scripts/relative", "scripts/relative"),
            top / ".git/hooks/prepare-commit-msg": (str(top / "scripts/absolute"), "scripts/absolute"),
            top / ".git/hooks/commit-msg": ("../../tools/behind", "scripts/behind"),
            top / ".git/hooks/post-commit": (str(top / "tree/scripts/check"), "tree/scripts/check"),
            top / "sub/.git/hooks/pre-commit": ("../../scripts/check", "sub/scripts/check"),
        }
    scripts = [script for _, script in links.values()]
    for link, (target, script) in links.items():
        for path in (link, top / script):
            path.parent.mkdir(exist_ok=True)
        (top / script).write_text("#!/bin/sh\n")
        (top / script).chmod(0o755)
        link.symlink_to(target)

    play(
        kaa,
        "; ".join(f"cat {evil} > {script}" for script in scripts),
        "; ".join(f"cp {evil} {script}.new && mv {script}.new {script}" for script in scripts),
        f"mkdir other && cp {evil} other/behind && rm tools && ln -s other tools",
        flags=flags,
    )
    for at in (".", "tree", "sub") if place == "in repositories" else (".",):
        git(kaa, "commit", "--allow-empty", "-m", "x", at=at)

    assert {script: (top / script).read_text() for script in scripts} == dict.fromkeys(scripts, "#!/bin/sh\n")
    assert not canary.exists()


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
@pytest.mark.parametrize("way", ["links and includes", "hooksPath", "husky"])
def test_what_the_user_has_git_obey_in_its_own_directory_is_not_changed(
    kaa: Kaa, canary: Path, way: str, flags: tuple[str, ...]
) -> None:
    evil, top = canary.with_name("evil"), kaa.project / ".git"
    below = kaa.project / "sub/.git"
    git(kaa, "init", "-q", ".", check=True)
    scripts = {top / "custom/pre-commit": "#!/bin/sh\n"}
    match way:
        case "hooksPath":
            git(kaa, "config", "core.hooksPath", ".git/custom", check=True)
        case "husky":
            (kaa.project / ".husky").mkdir()
            (kaa.project / ".husky/pre-commit").symlink_to("../.git/custom/pre-commit")
            git(kaa, "config", "core.hooksPath", ".husky", check=True)
        case _:
            git(kaa, "init", "-q", "sub", check=True)
            git(kaa, "config", "include.path", "custom/included", check=True)
            scripts |= {top / "custom/included": "[user]\n", below / "custom/pre-commit": "#!/bin/sh\n"}
            (top / "hooks").mkdir(exist_ok=True)
            (top / "hooks/commit-msg").symlink_to("../custom/nothing")
            for place in (top, below):
                (place / "hooks").mkdir(exist_ok=True)
                (place / "hooks/pre-commit").symlink_to("../custom/pre-commit")
    for script, text in scripts.items():
        script.parent.mkdir(exist_ok=True)
        script.write_text(text)
        script.chmod(0o755)
    plants = {
        script: f"printf '[core]\\nfsmonitor = {evil}\\n'" if script.name == "included" else f"cat {evil}"
        for script in (*scripts, top / "custom/nothing")
    }

    play(
        kaa,
        "; ".join(f"{plant} > {script}; chmod +x {script}" for script, plant in plants.items()),
        "; ".join(
            f"{plant} > {script}.new; chmod +x {script}.new; mv {script}.new {script}"
            for script, plant in plants.items()
        ),
        "; ".join(
            f"mv {place}/custom {place}/other; mkdir {place}/custom" for place in {one.parents[1] for one in scripts}
        )
        + "".join(f"; {plant} > {script}; chmod +x {script}" for script, plant in plants.items()),
        flags=flags,
    )
    for at in (".", "sub") if below.exists() else (".",):
        git(kaa, "status", at=at)
        git(kaa, "commit", "--allow-empty", "-m", "x", at=at)

    assert {script: script.read_text() for script in scripts} == scripts
    assert not canary.exists()
    assert way != "links and includes" or not (top / "custom/nothing").exists()


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
        play(kaa, "mkdir $(seq -f A%g 2100)")
    elif where == "repositories":
        copies = "import shutil\nfor i in range(2, 261): shutil.copytree('A1', f'A{i}')"
        play(kaa, f'git init -q --template= A1; python3 -c "{copies}"')

    play(kaa, f"cat {canary.with_name('evil')} > {at}/githooks/pre-commit")
    git(kaa, "commit", "--allow-empty", "-m", "x", at=at)

    assert not canary.exists()
    assert script.read_text() == "#!/bin/sh\n"


@pytest.mark.parametrize("way", ["hooksPath", "link", "filter", "added directory", "dot files"])
def test_what_the_repository_above_obeys_in_a_subdirectory_is_not_executed_changed(
    kaa: Kaa, canary: Path, way: str
) -> None:
    web = kaa.project / "web"
    (web / "scripts").mkdir(parents=True)
    script = web / "scripts/pre-commit"
    script.write_text("#!/bin/sh\ncat\n")
    script.chmod(0o755)
    at = ".." if way == "dot files" else "."
    git(kaa, "init", "-q", at, check=True)
    below = "project/web" if way == "dot files" else "web"
    match way:
        case "link":
            (kaa.project / ".git/hooks").mkdir(exist_ok=True)
            (kaa.project / ".git/hooks/pre-commit").symlink_to("../../web/scripts/pre-commit")
        case "filter":
            git(kaa, "config", "filter.x.clean", "web/scripts/pre-commit", check=True)
            (kaa.project / ".gitattributes").write_text("* filter=x\n")
        case _:
            git(kaa, "config", "core.hooksPath", f"{below}/scripts", at=at, check=True)
    top = kaa.project
    flags: tuple[str, ...] = ()
    if way == "added directory":
        kaa.project = top.parent / "other"
        kaa.project.mkdir()
        flags = ("--add-dir", str(web))
    else:
        kaa.project = web
    evil = canary.with_name("evil")

    play(
        kaa,
        f"cat {evil} > {script}",
        f"cp {evil} {web}/new && mv {web}/new {script}",
        f"mkdir {web}/o && cp {evil} {web}/o/pre-commit && mv {web}/scripts {web}/old && mv {web}/o {web}/scripts",
        flags=flags,
    )
    kaa.project = top
    git(kaa, "add", "-A")
    git(kaa, "commit", "--allow-empty", "-m", "x", at=at)

    assert not canary.exists()
    assert script.read_text() == "#!/bin/sh\ncat\n"


@pytest.mark.parametrize("way", ["husky", "deep"])
def test_a_folder_in_which_something_is_executed_is_not_exchanged_for_a_link(kaa: Kaa, canary: Path, way: str) -> None:
    at = "a/b/c/d" if way == "deep" else "."
    git(kaa, "init", "-q", at, check=True)
    git(kaa, "config", "core.hooksPath", "tools/hooks" if way == "deep" else ".husky", at=at, check=True)
    script = kaa.project / at / "tools/hooks/pre-commit"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    if way == "husky":
        (kaa.project / ".husky").mkdir()
        (kaa.project / ".husky/pre-commit").symlink_to("../tools/hooks/pre-commit")
    evil = canary.with_name("evil")

    play(kaa, f"cd {at} && mkdir -p e/hooks && cp {evil} e/hooks/pre-commit && mv tools old && ln -s e tools")
    git(kaa, "commit", "--allow-empty", "-m", "x", at=at)

    assert not canary.exists()


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
