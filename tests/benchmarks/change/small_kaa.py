"""A git checkout with a small program in place of kaa: it asks the model once, as `kaa -p` does, and ends."""

import subprocess
from pathlib import Path

_PROGRAM = """
import http.client
import json
import os
import pathlib
import urllib.parse


def main():
    models = json.loads((pathlib.Path(os.environ["KAA_DIR"]) / "models.json").read_text())
    url = urllib.parse.urlsplit(models["providers"]["bench"]["baseUrl"])
    connection = http.client.HTTPConnection(url.netloc)
    connection.request("POST", "/v1/messages", json.dumps({"messages": [], "tools": []}))
    connection.getresponse().read()
"""


class Checkout:
    """A git repository in a folder.

    Attributes:
        path: its top.
        sources: the folder of the package `kaa`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sources = path / "src" / "kaa"
        self.sources.mkdir(parents=True)
        (self.sources / "__init__.py").touch()
        self.write(_PROGRAM)
        self.git("init", "-q", "-b", "main")
        self.commit()

    def write(self, program: str) -> None:
        """Replace the program."""
        (self.sources / "cli.py").write_text(program)

    def commit(self) -> None:
        """Commit everything."""
        self.git("add", "-A")
        self.git("-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "-m", "A change")

    def git(self, *arguments: str) -> str:
        """Run git; returns what it prints."""
        done = subprocess.run(["git", "-C", self.path, *arguments], capture_output=True, encoding="utf-8", check=True)
        return done.stdout

    def worktrees(self) -> list[str]:
        """The folders of its worktrees, its own first."""
        lines = self.git("worktree", "list", "--porcelain").splitlines()
        return [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")]
