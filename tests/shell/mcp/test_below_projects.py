"""The scripts of a server without a sandbox name nothing below a project: what is not there can be made meanwhile."""

from pathlib import Path

import pytest

from kaa.mcp.errors import ServerGoneError
from kaa.shell.home import Home
from kaa.shell.mcp.code import code_of
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry, Source
from kaa.shell.mcp.outside_folders import OutsideFolders
from kaa.shell.mcp.outside_programs import file_named_outside
from kaa.shell.mcp.place import ServerCommandLine, ServerPlace
from kaa.shell.mcp.starting import start_program
from kaa.workspace.places import Places
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.loops import in_loop


class Desk:
    """The home of a user with a project at work, and one where kaa ran before; both without any code.

    Args:
        home: its folder.
    """

    def __init__(self, home: Path) -> None:
        self.home, self.project = home, home / "dev/app"
        self.environ = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
        for name in ("app", "earlier"):
            self.write(f"dev/{name}/README.md", "read me")
        self.write("dev/app/docs/notes.md", "notes")
        assert Places.of(self.environ, str(home), str(home / "dev/earlier")).caches
        self.place = ServerPlace(Home(home / "kaa"), self.environ, str(self.project), SandboxOptions)

    def write(self, path: str, text: str) -> None:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("HOME/", f"{self.home}/"))
        file.chmod(0o755 if path.startswith("srv/") else 0o644)

    def server(self, *words: str, sandbox: bool = False) -> ConfiguredServer:
        first, *others = (word.replace("~", str(self.home)) for word in words)
        entry = ServerEntry(command=first, args=tuple(others), sandbox=sandbox)
        return ConfiguredServer("one", entry, Source("/file", "user"), "digest")

    def named(self, *words: str) -> list[str]:
        server = self.server(*words)
        assert code_of(server, self.place) == {}
        found = filter(
            None, [file_named_outside(ServerCommandLine.of(server, self.place), self.place, OutsideFolders())]
        )
        return [path.removeprefix(f"{self.home}/dev/") for path in found]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve() / "home")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("srv.py", 'f = "HOME/dev/app/acme_config.py"\n'),
        ("srv.py", 'f = Path.home() / "dev" / "app" / "acme_config.py"\n'),
        ("srv.py", 'f = Path("HOME/dev/app") / "acme_config.py"\n'),
        ("srv.py", 'f = os.path.join("HOME/dev/app", "acme_config.py")\n'),
        ("srv.py", 'f = os.path.expanduser("~/dev/app/acme_config.py")\n'),
        ("srv.py", 'f = "HOME/dev/app" + "/acme_config.py"\n'),
        ("srv.mjs", "await import(`${homedir()}/dev/app/acme_config.py`)\n"),
        ("srv.sh", "#!/bin/sh\n. $HOME/dev/app/acme_config.py\n"),
        ("srv.sh", '#!/bin/sh\n. "HOME/dev/app"/acme_config.py\n'),
        ("srv.yaml", "plugin: ~/dev/app/acme_config.py\n"),
    ],
)
def test_what_is_not_there_counts_in_a_script_outside(desk: Desk, name: str, text: str) -> None:
    desk.write(f"srv/{name}", text)

    assert "app/acme_config.py" in desk.named("server", f"~/srv/{name}")


def test_another_project_counts(desk: Desk) -> None:
    desk.write("srv/srv.sh", "#!/bin/sh\nsh ~/dev/earlier/x.sh\n")

    assert desk.named("~/srv/srv.sh") == ["earlier/x.sh"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("srv.py", 'ROOT = "HOME/dev/app"\nOTHERS = ["a.py"]\n'),
        ("srv.py", 'f = "HOME/dev/app/notes.sqlite"\ng = "HOME/dev/app/docs/notes.md"\n'),
        ("srv.py", '# such as HOME/dev/app/acme_config.py\nf = "HOME/srv/acme_config.py"\n'),
        ("srv.py", 'f = "https://example.org/dev/app/acme_config.py"\n'),
        ("srv.json", '{"roots": ["HOME/dev/app", "HOME/dev/earlier", "notes"]}\n'),
        ("srv.sh", "#!/bin/sh\nexec docker run -i --rm -v $HOME/dev/app:/work image\n"),
    ],
)
def test_data_and_whole_projects_do_not_count(desk: Desk, name: str, text: str) -> None:
    desk.write(f"srv/{name}", text)

    assert desk.named("server", f"~/srv/{name}") == []


@in_loop
async def test_the_server_is_not_started(desk: Desk) -> None:
    desk.write("srv/srv.py", 'f = "HOME/dev/app/acme_config.py"\n')

    with pytest.raises(ServerGoneError, match=r"commands of the model can write .*/dev/app/acme_config\.py"):
        await start_program(desk.server("/usr/bin/python3", "~/srv/srv.py"), desk.place, lambda _: None, {})
