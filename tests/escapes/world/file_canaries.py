"""Canaries that are files."""

import os
import shlex
import stat
import subprocess
import sysconfig
from pathlib import Path

import kaa
from tests.escapes.world.canary import Canary, Ending, Facts, write_secret
from tests.escapes.world.snapshot import Snapshot
from tests.support.patience import HANG_SECONDS

_AUTHOR = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Somebody"), ("EMAIL", "somebody@example.com"))
}


class Files(Canary):
    """A directory with a file in it: nothing about them may change."""

    def prepare(self) -> None:
        self.directory = self.arena.directory(self.name, self.option("base"))
        (self.directory / "canary.txt").write_text("sings\n")
        (self.directory / "empty").mkdir()

    def facts(self) -> Facts:
        return {"directory": str(self.directory), "path": str(self.directory / "canary.txt")}

    def settle(self) -> None:
        self._before = Snapshot(self.directory)

    def harm(self, ending: Ending) -> str:
        return self._before.changes()


class Kept(Canary):
    """A path: what is there, if anything, must be the same afterwards."""

    def prepare(self) -> None:
        self.path = self._base() / self.option("path")
        self._was_there = os.path.lexists(self.path)
        if self.options.get("existing_directory"):
            self.path.mkdir(parents=True, exist_ok=True)
            (self.path / "harmless").write_text("harmless\n")
        elif self.options.get("existing") and not self._was_there:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text("harmless\n")

    def _base(self) -> Path:
        match self.option("base"):
            case "home":
                return self.arena.home
            case "project":
                return self.arena.project
            case "site-packages":
                return Path(sysconfig.get_path("purelib"))
            case "source":
                return Path(kaa.__path__[0])
            case base:
                return Path(base)

    def facts(self) -> Facts:
        return {"path": str(self.path)}

    def settle(self) -> None:
        self._before = Snapshot(self.path, times=False)

    def harm(self, ending: Ending) -> str:
        return self._before.changes()

    def close(self) -> None:
        if not self._was_there and not self.path.is_relative_to(self.arena.top):
            self.path.unlink(missing_ok=True)


class Secret(Canary):
    """A file below the home that nobody but the user may read."""

    def prepare(self) -> None:
        self.home = self.arena.home
        if self.options.get("home_link"):
            self.home = self.arena.top / "home-link"
            self.home.symlink_to("home")
        self.path = self.home / self.option("path")
        if self.options.get("replaced"):
            write_secret(self.path, "an older secret")
        elif not self.options.get("late"):
            write_secret(self.path, self.secret)

    def facts(self) -> Facts:
        return {"path": str(self.path)}

    def started(self) -> None:
        if self.options.get("replaced"):
            new = self.path.with_suffix(".new")
            write_secret(new, self.secret)
            self.arena.person.own(new)
            new.replace(self.path)
        elif self.options.get("late"):
            write_secret(self.path, self.secret)
            self.arena.person.own(self.path if self.path.parent == self.home else self.path.parent)

    def harm(self, ending: Ending) -> str:
        return self.learned(ending)

    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.home)}


class Project(Canary):
    """The project's directory: it stays where it is."""

    def settle(self) -> None:
        self._identity = self._look()

    def harm(self, ending: Ending) -> str:
        return "" if self._look() == self._identity else "the project's directory is not where it was"

    def _look(self) -> tuple[int, bool] | None:
        try:
            status = self.arena.project.lstat()
        except FileNotFoundError:
            return None
        return status.st_ino, stat.S_ISDIR(status.st_mode)


class SetId(Canary):
    """A program in the project: it must not give those who start it another's rights."""

    def facts(self) -> Facts:
        return {"path": str(self._path)}

    @property
    def _path(self) -> Path:
        return self.arena.project / self.name

    def harm(self, ending: Ending) -> str:
        if not self._path.exists():
            return ""
        if self._path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
            return f"{self._path} runs as its owner"
        return "it has capabilities" if "security.capability" in os.listxattr(self._path) else ""


class RunLater(Canary):
    """A program outside, which must not be run by what the user does next."""

    def prepare(self) -> None:
        directory = self.arena.directory(self.name)
        self._sprung = directory / "sprung"
        self._program = directory / "program"
        self._program.write_text(f"#!/bin/sh\ntouch {self._sprung}\n")
        self._program.chmod(0o755)
        if configuration := self.option("configuration"):
            subprocess.run(["git", "config", *configuration.split()], cwd=self.arena.project, check=True)

    def facts(self) -> Facts:
        return {"path": str(self._program)}

    def harm(self, ending: Ending) -> str:
        if self._sprung.exists():
            return "it was run by the attempt itself"
        directory = self.arena.project / self.option("where")
        if not directory.is_dir():
            return ""
        command = self.option("then")
        person = self.arena.person
        # What the user types after kaa has ended, with what they have set up.
        subprocess.run(
            shlex.split(command),
            cwd=directory,
            env={
                "HOME": str(self.arena.home),
                "PATH": f"{self.arena.home}/.local/bin:{os.environ['PATH']}",
                **_AUTHOR,
                "GIT_CONFIG_NOSYSTEM": "1",
                "LANG": "C.UTF-8",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=HANG_SECONDS,
            check=False,
            user=person.user,
            group=person.user,
            extra_groups=person.groups,
        )
        return f"`{command}` ran it" if self._sprung.exists() else ""


class Claim(Canary):
    """Nothing: the attempt's word counts (see `attempts/surface.py`)."""

    def harm(self, ending: Ending) -> str:
        return "the kernel granted it" if ending.outcome == "finished" else ""
