"""What must keep working in the sandbox: the counterpart of each class of attempts, for root and an ordinary user."""

import base64
import ensurepip
import hashlib
import shutil
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.escapes.world.arena import LISTED
from tests.escapes.world.people import ORDINARY, ROOT, Person
from tests.escapes.world.possible import obstacle, tier_of
from tests.escapes.world.work import Work, interpreter, working


@pytest.fixture(scope="module", params=[ROOT, ORDINARY], ids=lambda person: person.name)
def work(request: pytest.FixtureRequest) -> Iterator[Work]:
    person: Person = request.param
    if reason := obstacle(person):
        pytest.skip(reason)
    if (tier := tier_of(person)) not in ("full", "bwrap"):
        pytest.skip(f"needs loopback and a private /tmp, which tier {tier} has not")
    with working(person) as made:
        yield made


def _needs(*programs: str) -> pytest.MarkDecorator:
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"this machine has no {', '.join(missing)}")


# Files


def test_files_of_the_project_are_edited(work: Work) -> None:
    work.shell(
        """
        mkdir -p src/deep && echo one >src/deep/a && mv src/deep/a src/b && echo two >>src/b
        ln -s b src/soft && ln src/b src/hard && cp src/b src/c && rm src/c
        chmod 750 src/b && touch -d 2020-01-01 src/b && truncate -s 4 src/b
        mv src moved && cat moved/soft
        """
    )

    moved = work.project / "moved"
    assert (moved / "b").read_text() == "one\n"
    assert (moved / "b").stat().st_nlink == 2
    assert (moved / "b").stat().st_mode & 0o777 == 0o750
    assert not (moved / "c").exists()


def test_scripts_of_the_project_are_run(work: Work) -> None:
    work.write("tool", "#!/bin/sh\necho ran $1\n")

    assert work.shell("chmod +x tool && ./tool fast") == "ran fast\n"


def test_temporary_files_and_caches_work(work: Work) -> None:
    out = work.python(
        """
import os, pathlib, tempfile
from multiprocessing import shared_memory
with tempfile.NamedTemporaryFile() as a, tempfile.TemporaryDirectory() as b, tempfile.NamedTemporaryFile(dir="/tmp"):
    pathlib.Path(b, "x").write_text("x")
memory = shared_memory.SharedMemory(create=True, size=64)
memory.close(); memory.unlink()
cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
cache.mkdir(parents=True, exist_ok=True)
(cache / "x").write_text("kept")
print((cache / "x").read_text())
"""
    )

    assert out == "kept\n"


def test_the_system_is_readable(work: Work) -> None:
    assert "root:" in work.shell("cat /etc/passwd; ls / >/dev/null; ls ~ >/dev/null; cat ~/.config/git/ignore")


def test_files_are_locked_and_watched(work: Work) -> None:
    out = work.python(
        """
import ctypes, fcntl, os
libc = ctypes.CDLL(None)
with open("lock", "w") as file:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
watch = libc.inotify_init()
assert libc.inotify_add_watch(watch, os.fsencode(os.getcwd()), 0x100) > 0
open("watched", "w").close()
print(b"watched" in os.read(watch, 4096))
"""
    )

    assert out == "True\n"


def test_databases_work(work: Work) -> None:
    out = work.python(
        """
import sqlite3
with sqlite3.connect("data.db") as base:
    print(base.execute("pragma journal_mode=wal").fetchone()[0])
    base.execute("create table t (n)")
    base.executemany("insert into t values (?)", [(n,) for n in range(1000)])
with sqlite3.connect("data.db") as base:
    print(base.execute("select count(*) from t").fetchone()[0])
"""
    )

    assert out == "wal\n1000\n"


# Secrets: nothing is hidden that work needs


def test_variables_of_the_user_arrive(work: Work) -> None:
    assert work.shell('echo "$HOME"; test -n "$PATH"') == f"{work.home}\n"


def test_settings_of_git_and_toolchains_are_readable(work: Work) -> None:
    assert work.shell(f"cd && cat {' '.join(LISTED)}") == "".join(f"{name}\n" for name in LISTED)


def test_a_start_up_file_that_is_hidden_hinders_no_login_shell(work: Work) -> None:
    assert work.shell("bash -lc 'echo works'") == "works\n"


# Repositories


def test_a_repository_is_looked_at(work: Work) -> None:
    out = work.shell(
        "echo more >>README.md; git status --short README.md; git diff --stat; git log --oneline; git show HEAD"
    )

    assert "README.md" in out
    assert "Begin" in out
    work.shell("git -C dependency log; git -C module status")


def test_a_repository_elsewhere_is_written(work: Work) -> None:
    out = work.shell(
        """
        cd "$(mktemp -d)" && git init -q . && echo x >x && git add x
        git -c user.name=x -c user.email=x@example.com commit -qm first && git log --format=%s
        """
    )

    assert out == "first\n"


def test_a_harmless_new_repository_stays(work: Work) -> None:
    work.shell_alone("git clone -q . copy && git -C copy log --oneline && git init -q fresh && echo x >fresh/x")
    work.shell_alone("git -C copy status && git -C fresh status")

    assert (work.project / "copy" / ".git" / "HEAD").exists()
    assert (work.project / "fresh" / ".git" / "config").exists()


def test_a_commit_is_made(work: Work) -> None:
    done = work.run_alone(
        "bash",
        "-euc",
        "echo more >>README.md; git commit -qam More; git switch -qc side; git tag one; git stash list; git gc -q",
    )

    assert done.code == 0, done.err
    assert "More" in work.shell("git log --format=%s side")


# Caches


def test_a_cache_of_the_user_is_seen_and_changed_only_for_the_project(work: Work) -> None:
    if tier_of(work.person) != "full":
        pytest.skip("only tier full shares caches")
    cache = work.home / ".cache" / "uv"
    cache.mkdir(parents=True)
    (cache / "a").write_text("the user's\n")
    work.person.own(work.home / ".cache")

    assert work.shell_alone("cat $UV_CACHE_DIR/a; echo more >>$UV_CACHE_DIR/a; cat $UV_CACHE_DIR/a").split("\n") == [
        "the user's",
        "the user's",
        "more",
        "",
    ]
    assert (cache / "a").read_text() == "the user's\n"


# Processes


def test_exit_codes_and_signals_are_told(work: Work) -> None:
    assert work.run_alone("sh", "-c", "exit 7").code == 7
    assert work.run_alone("sh", "-c", "kill -TERM $$").code == 128 + 15
    assert work.run_alone("no-such-program-anywhere").code == 127


def test_input_and_much_output_pass(work: Work) -> None:
    assert work.run_alone("cat", stdin=b"x" * 300_000).out == "x" * 300_000
    assert len(work.run_alone("sh", "-c", "yes | head -c 5000000; echo error >&2").out) == 5_000_000


def test_processes_are_started_in_every_way(work: Work) -> None:
    out = work.python(
        """
import asyncio, concurrent.futures, multiprocessing, os, subprocess, sys, threading

def double(number):
    return 2 * number

async def child():
    process = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    return (await process.communicate(b"asyncio"))[0]

if __name__ == "__main__":
    for method in ("fork", "forkserver", "spawn"):
        context = multiprocessing.get_context(method)
        with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
            assert list(pool.map(double, range(4))) == [0, 2, 4, 6]
        with context.Pool(2) as pool:
            assert pool.map(double, range(4)) == [0, 2, 4, 6]
    assert asyncio.run(child()) == b"asyncio"
    threads = [threading.Thread(target=double, args=(1,)) for _ in range(20)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    queue = multiprocessing.Queue(); queue.put(1); assert queue.get() == 1
    print(os.popen("echo popen").read().strip(), subprocess.check_output(["echo", "run"], text=True).strip())
"""
    )

    assert out == "popen run\n"


def test_own_children_are_signalled(work: Work) -> None:
    out = work.shell(
        "sleep 1000 & a=$!; sleep 1000 & b=$!; kill $a; kill -9 $b; wait $a || echo $?; wait $b || echo $?"
    )

    assert out.split() == ["143", "137"]


def test_terminals_are_made(work: Work) -> None:
    out = work.python(
        """
import os, pty
pid, fd = pty.fork()
if pid == 0:
    os.execvp("sh", ["sh", "-c", "test -t 0 && tty >/dev/null && echo terminal"])
print(os.read(fd, 100).decode().strip())
os.waitpid(pid, 0)
"""
    )

    assert out == "terminal\n"


@_needs("script")
def test_programs_that_want_a_terminal_get_one(work: Work) -> None:
    assert "yes" in work.shell("script -qec 'test -t 1 && echo yes' /dev/null </dev/null")


@_needs("ps")
def test_processes_are_listed(work: Work) -> None:
    assert "sleep 1000" in work.shell("sleep 1000 & ps -ef; kill %1")


@_needs("strace")
def test_own_children_are_traced(work: Work) -> None:
    assert "execve" in work.shell("strace -f -e trace=execve -o trace.txt sh -c 'echo x' && cat trace.txt")


def test_a_program_is_run_from_memory(work: Work) -> None:
    out = work.python(
        """
import os, shutil
fd = os.memfd_create("program", 0)
with open(shutil.which("echo"), "rb") as file:
    os.write(fd, file.read())
os.execve(fd, ["echo", "from memory"], {})
"""
    )

    assert out == "from memory\n"


# Network


def test_servers_on_loopback_are_reached(work: Work) -> None:
    out = work.python(
        """
import http.server, socket, threading, urllib.request
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
print(opener.open(f"http://127.0.0.1:{server.server_port}/README.md").status)
print(urllib.request.urlopen(f"http://localhost:{server.server_port}/README.md").status)
a, b = socket.socket(type=socket.SOCK_DGRAM), socket.socket(type=socket.SOCK_DGRAM)
a.bind(("127.0.0.1", 0)); b.sendto(b"x", a.getsockname()); print(a.recv(10))
print([name for _, name in socket.if_nameindex()])
"""
    )

    assert out.splitlines() == ["200", "200", "b'x'", "['lo']"]


def test_unix_sockets_of_the_project_work(work: Work) -> None:
    out = work.python(
        """
import os, socket, tempfile
for address in ("socket", tempfile.mktemp(), "\\0abstract"):
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(address); server.listen(); client.connect(address)
        print(client.send(b"x"))
left, right = socket.socketpair(); left.send(b"pair"); print(right.recv(10))
"""
    )

    assert out.splitlines() == ["1", "1", "1", "b'pair'"]


# Tools


def test_a_package_is_installed_into_an_environment(work: Work) -> None:
    wheel = work.project / "tiny-1.0-py3-none-any.whl"
    _make_wheel(wheel)
    work.person.own(wheel)

    out = work.shell(
        f"""
        {interpreter()} -m venv --without-pip env
        export PYTHONPATH={_place_of_pip(work.project)}
        env/bin/python -m pip install --quiet --no-index --disable-pip-version-check {wheel.name}
        env/bin/python -c 'import tiny; print(tiny.NAME)'
        """
    )

    assert out.splitlines()[-1] == "tiny"


def test_tests_are_run(work: Work) -> None:
    work.write("suite/test_one.py", "def test_one(tmp_path):\n    (tmp_path / 'x').write_text('x')\n")

    assert "1 passed" in work.shell(f"{sys.executable} -m pytest suite")


@_needs("node", "npm")
def test_scripts_of_node_are_run(work: Work) -> None:
    work.write("web/package.json", '{"name": "web", "version": "1.0.0", "scripts": {"go": "node go.js"}}')
    work.write(
        "web/go.js",
        """
        const http = require("http"), os = require("os"), { execFileSync } = require("child_process");
        console.log(Object.keys(os.networkInterfaces()).join(), String(execFileSync("echo", ["child"])).trim());
        const server = http.createServer((_, answer) => answer.end("served")).listen(0, "127.0.0.1", () => {
          http.get({ port: server.address().port, host: "127.0.0.1" }, (answer) =>
            answer.on("data", (data) => { console.log(String(data)); server.close(); }));
        });
        """,
    )

    out = work.shell("cd web && npm run --silent go")

    assert out.split() == ["lo", "child", "served"]


@_needs("gcc", "make")
def test_programs_are_compiled(work: Work) -> None:
    work.write("c/main.c", '#include <stdio.h>\nint main(void) { puts("compiled"); return 0; }\n')
    work.write("c/Makefile", "main: main.c\n\tgcc -O1 -g -o $@ $<\n")

    assert work.shell("cd c && make -s -j2 && ./main") == "compiled\n"


def _place_of_pip(project: Path) -> Path:
    """Return where pip is imported from: a folder with nothing else, if it is installed, as it is compiled there."""
    if not (installed := Path(sysconfig.get_path("purelib", vars={"base": sys.base_prefix}), "pip")).is_dir():
        return _pip_of_python()
    folder = project / "installer"
    folder.mkdir()
    (folder / "pip").symlink_to(installed)
    return folder


def _pip_of_python() -> Path:
    """Return the wheel from which `venv` installs pip, which takes five times as long as to run it from there."""
    folders = (Path(ensurepip.__file__).with_name("_bundled"), Path("/usr/share/python-wheels"))  # the latter: Debian
    return next(wheel for folder in folders for wheel in folder.glob("pip-*.whl"))


def _make_wheel(path: Path) -> None:
    """The smallest package there can be (PEP 427)."""
    files = {
        "tiny.py": 'NAME = "tiny"\n',
        "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
        "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: kaa\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in files.items())
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in {**files, "tiny-1.0.dist-info/RECORD": f"{record}tiny-1.0.dist-info/RECORD,,\n"}.items():
            wheel.writestr(name, content)


def _digest(content: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).decode().rstrip("=")
