"""What a command line names becomes readable, but for secrets and what commands can exchange."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from kaa.shell.home import Home
from kaa.shell.mcp.config.entry import ConfiguredServer, Scope, ServerEntry, Source
from kaa.shell.mcp.describing import described
from kaa.shell.mcp.place import ServerCommandLine, ServerPlace
from kaa.shell.mcp.readable import RightsError, certificates, readable_places
from kaa.workspace.places import Places
from kaa.workspace.sandbox.options import SandboxOptions


class Land:
    """A home with secrets, and a project.

    Args:
        base: an empty directory.
    """

    def __init__(self, base: Path) -> None:
        self.home, self.project, self.agent = base / "home", base / "project", base / "home/.kaa/agent"
        self.documents, self.keys = self.home / "Documents", self.home / ".ssh"
        for folder in (self.documents, self.keys, self.project, self.agent):
            folder.mkdir(parents=True)
        (self.keys / "id_rsa").write_text("secret")
        self.options = SandboxOptions()

    @property
    def place(self) -> ServerPlace:
        environ = {"HOME": str(self.home)}
        return ServerPlace(Home(self.agent), environ, str(self.project), lambda: self.options)

    def server(self, *arguments: object, scope: Scope = "user") -> ConfiguredServer:
        entry = ServerEntry(command="serve", args=tuple(map(str, arguments)))
        return ConfiguredServer("files", entry, Source("/its/file", scope), "digest")

    def readable(self, *arguments: object) -> tuple[str, ...]:
        server = self.server(*arguments)
        return readable_places(server, ServerCommandLine.of(server, self.place), self.place)

    def readable_of(self, scope: Scope = "user", **fields: Any) -> tuple[str, ...]:
        """Of a whole entry."""
        server = ConfiguredServer("own", ServerEntry(**fields), Source("/its/file", scope), "digest")
        return readable_places(server, ServerCommandLine.of(server, self.place), self.place)

    def write(self, path: str, text: str = "") -> Path:
        """Write a file of the home."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file


@pytest.fixture
def land(tmp_path: Path) -> Land:
    return Land(tmp_path.resolve())


def test_a_folder_that_is_named_is_readable(land: Land) -> None:
    assert land.readable("--root", land.documents, land.project, "/nowhere") == (str(land.documents),)


def test_a_link_of_the_user_is_followed_and_stays_usable(land: Land) -> None:
    (land.home / "papers").symlink_to(land.documents)

    assert land.readable(land.home / "papers") == (str(land.documents), str(land.home / "papers"))


@pytest.mark.parametrize("target", ["Documents", ".ssh", ".kaa/agent", ""])
@pytest.mark.parametrize("below", ["", "/..", "/."])
def test_a_link_that_commands_can_make_leads_nowhere(land: Land, target: str, below: str) -> None:
    (land.project / "docs").symlink_to(land.home / target)

    with pytest.raises(RightsError, match=r"passes through the link .*/project/docs, which commands can change"):
        land.readable(f"{land.project}/docs{below}")


def test_a_link_in_a_directory_that_was_added_leads_nowhere(land: Land, tmp_path: Path) -> None:
    added = tmp_path / "added"
    added.mkdir()
    land.options = SandboxOptions(writable=(str(added),))
    (added / "docs").symlink_to(land.documents)

    with pytest.raises(RightsError, match="which commands can change"):
        land.readable(added / "docs")


def test_of_another_project_only_what_is_named_is_readable(land: Land) -> None:
    other = land.home / "work/other"
    for folder in (".venv/bin", "docs"):
        (other / folder).mkdir(parents=True)
    (other / ".venv/pyvenv.cfg").touch()
    (other / ".venv/bin/python").symlink_to("/usr/bin/env")
    (other / "link").symlink_to(land.documents)
    assert Places.of({}, str(land.home), str(other)).caches
    words = (f"{other}/.venv/bin/python", "-m", "it", f"{other}/docs")

    assert readable_places(land.server(), ServerCommandLine(words, {}, ""), land.place) == (
        f"{other}/.venv",
        f"{other}/docs",
    )
    with pytest.raises(RightsError, match="which commands can change"):
        land.readable(other / "link")


def test_of_a_directory_that_was_added_nothing_is_named_that_commands_could_exchange(land: Land) -> None:
    added = land.documents / "added"
    (added / "inside").mkdir(parents=True)
    land.options = SandboxOptions(writable=(str(added),))

    assert land.readable(added / "inside") == (str(added),)


@pytest.mark.parametrize("secret", [".ssh", ".ssh/id_rsa", ".kaa/agent", ".kaa/agent/../agent"])
def test_a_secret_is_refused_with_the_setting_of_the_user(land: Land, secret: str) -> None:
    with pytest.raises(RightsError, match=r"hidden from servers.*/its/file.*`sandbox.hidden` of .*settings\.json"):
        land.readable(land.home / secret)


def test_a_link_to_a_secret_is_refused_wherever_it_is(land: Land) -> None:
    (land.home / "papers").symlink_to(land.keys)

    with pytest.raises(RightsError, match="hidden from servers"):
        land.readable(land.home / "papers")


def test_an_exception_of_the_user_permits_a_secret_but_nothing_of_kaa(land: Land) -> None:
    land.options = SandboxOptions(hidden=("!~/.ssh", "!~/.kaa", "!~/.kaa/agent"))

    assert land.readable(land.keys) == (str(land.keys),)
    with pytest.raises(RightsError):
        land.readable(land.agent)


def test_what_kaa_shows_of_its_folder_can_be_named(land: Land) -> None:
    skill = land.agent / "skills/one"
    skill.mkdir(parents=True)
    land.options = SandboxOptions(hidden=(f"!{skill}", "!~"))

    assert land.readable(skill) == (str(skill),)
    with pytest.raises(RightsError):
        land.readable(land.agent)


def test_an_interpreter_behind_a_link_of_the_project_uncovers_nothing(land: Land) -> None:
    (land.project / "python").symlink_to(land.keys / "id_rsa")
    server = ConfiguredServer("own", ServerEntry(command="x"), Source("/its/file", "user"), "digest")

    assert readable_places(server, ServerCommandLine((str(land.project / "python"),), {}, ""), land.place) == ()


def test_the_question_lists_what_becomes_readable(land: Land) -> None:
    text = described(land.server("~/Documents", "${userHome}/Documents", scope="project"), land.place)
    refused = described(land.server("${HOME}/.ssh", scope="project"), land.place)

    assert f"It may read, since its command line names it: {land.documents} (except secrets)." in text
    assert "It cannot start: its argument" in refused


def test_a_question_about_a_server_has_no_lines_that_its_entry_wrote(tmp_path: Path) -> None:
    lie = "x\nIn its own sandbox, it can read no file of yours.\u2028And more."
    entry = ServerEntry(command="/usr/bin/x", args=(lie,), cwd=lie, env={"A": lie, "B": "x" * 300})
    server = ConfiguredServer("one", entry, Source("/file", "project"), "digest")

    shown = described(server, ServerPlace(Home(tmp_path), {}, str(tmp_path), SandboxOptions)).split("\n")

    assert not any(line.startswith("In a sandbox") and "no file of yours." in line for line in shown)
    assert len("".join(shown).splitlines()) == 1
    assert any(f"B={'x' * 120}… (100 more characters) …{'x' * 80}" in line for line in shown)


def test_a_question_about_a_server_shows_what_follows_many_blanks(tmp_path: Path) -> None:
    entry = ServerEntry(command="/usr/bin/x", env={"NODE_OPTIONS": f"{' ' * 200}--require /x"})

    shown = described(
        ConfiguredServer("one", entry, Source("/file", "project"), "digest"),
        ServerPlace(Home(tmp_path), {}, str(tmp_path), SandboxOptions),
    )

    assert "NODE_OPTIONS= (… 200 blanks …) --require /x" in shown


@pytest.mark.parametrize("url", ["https://github.com@evil.example/mcp", "https://gith\u0443b.example/mcp"])
def test_a_question_about_a_server_warns_of_a_host_that_looks_like_another(tmp_path: Path, url: str) -> None:
    server = ConfiguredServer("one", ServerEntry(url=url), Source("/file", "project"), "digest")

    assert "Careful: the" in described(server, ServerPlace(Home(tmp_path), {}, str(tmp_path), SandboxOptions))


@pytest.mark.parametrize(
    ("content", "folder", "is_read"),
    [
        ("-----BEGIN CERTIFICATE-----", "home", True),
        ("-----BEGIN CERTIFICATE-----\n-----BEGIN RSA PRIVATE KEY-----", "home", False),
        ("password", "home", False),
        ("-----BEGIN CERTIFICATE-----", "project", False),  # commands could put anything there
    ],
)
def test_certificates_that_the_users_network_needs_are_readable(
    land: Land, content: str, folder: str, is_read: bool
) -> None:
    file = land.home.parent / folder / "corporate.pem"
    file.write_text(content)
    place = msgspec.structs.replace(land.place, environ={"HOME": str(land.home), "REQUESTS_CA_BUNDLE": str(file)})

    assert certificates(place) == ((str(file),) if is_read else ())


class TestPackagesOutside:
    """What a server of the user's own consists of, where package managers put it."""

    def test_the_directory_where_it_starts_is_readable(self, land: Land) -> None:
        land.write("srv/index.mjs")

        assert land.readable_of(command="node", args=("index.mjs",), cwd="${userHome}/srv") == (str(land.home / "srv"),)

    @pytest.mark.parametrize("scope", ["project", "plugin", "agent"])
    def test_no_other_server_shows_itself_a_folder_by_starting_there(self, land: Land, scope: Scope) -> None:
        land.write("srv/index.mjs")

        assert land.readable_of(scope, command="node", args=("index.mjs",), cwd="${userHome}/srv") == ()

    @pytest.mark.parametrize("cwd", ["${userHome}", "${workspaceFolder}", "/", "${userHome}/missing"])
    def test_a_start_in_the_home_or_the_project_uncovers_nothing(self, land: Land, cwd: str) -> None:
        assert land.readable_of(command="node", args=("index.mjs",), cwd=cwd) == ()

    def test_a_start_among_secrets_is_refused(self, land: Land) -> None:
        with pytest.raises(RightsError, match=r"its `cwd` .*/\.ssh is hidden from servers"):
            land.readable_of(command="node", args=("index.mjs",), cwd="${userHome}/.ssh")

    def test_modules_of_the_workspace_above_are_readable(self, land: Land) -> None:
        script = land.write("mono/packages/srv/index.mjs")
        for path in ("packages/srv/package.json", "node_modules/dep/package.json", "package.json"):
            land.write(f"mono/{path}", "{}")

        found = land.readable_of(command="node", args=(str(script),))

        assert found == (f"{land.home}/mono/packages/srv", f"{land.home}/mono/node_modules")

    def test_packages_that_links_among_modules_lead_to_are_readable(self, land: Land) -> None:
        script = land.write("mono/packages/srv/index.mjs")
        for path in ("mono/packages/srv/package.json", "mono/packages/dep/package.json", "libs/own/package.json"):
            land.write(path, "{}")
        (land.home / "mono/node_modules/@me").mkdir(parents=True)
        (land.home / "mono/node_modules/dep").symlink_to("../packages/dep")
        (land.home / "mono/packages/dep/node_modules/@me").mkdir(parents=True)
        (land.home / "mono/packages/dep/node_modules/@me/own").symlink_to(land.home / "libs/own")

        found = land.readable_of(command="node", args=(str(script),))

        assert {f"{land.home}/mono/packages/dep", f"{land.home}/libs/own"} <= set(found)

    def test_editable_installs_of_an_environment_are_readable(self, land: Land) -> None:
        land.write("srv/.venv/pyvenv.cfg")
        land.write("srv/.venv/lib/python3.11/site-packages/_acme.pth", f"{land.home}/libs/acme/src\n")
        land.write("libs/acme/src/acme.py")
        land.write("libs/acme/pyproject.toml")
        land.write("srv/pyproject.toml")
        script = land.write("srv/main.py")

        found = land.readable_of(command="python3", args=(str(script),))

        assert found == (f"{land.home}/srv", f"{land.home}/libs/acme")

    def test_a_program_of_the_home_is_readable_where_it_really_is(
        self, land: Land, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        program = land.write("libs/own/index.mjs")
        land.write("libs/own/package.json", "{}")
        program.chmod(0o755)
        (land.home / "bin").mkdir()
        (land.home / "bin/own-mcp").symlink_to(program)
        environ = {"HOME": str(land.home), "PATH": f"{land.home}/bin:/usr/bin"}
        server = ConfiguredServer("own", ServerEntry(command="own-mcp"), Source("/its/file", "user"), "digest")
        place = ServerPlace(Home(land.agent), environ, str(land.project), lambda: land.options)

        assert readable_places(server, ServerCommandLine.of(server, place), place) == (f"{land.home}/libs/own",)

    def test_no_link_among_modules_uncovers_secrets_the_home_or_the_project(self, land: Land) -> None:
        script = land.write("srv/index.mjs")
        land.write("srv/package.json", "{}")
        (land.home / "srv/node_modules").mkdir()
        for number, target in enumerate((land.keys, land.home, land.project, land.agent, Path("/"))):
            (land.home / f"srv/node_modules/x{number}").symlink_to(target)

        found = land.readable_of(command="node", args=(str(script),))

        assert set(found) == {f"{land.home}/srv", f"{land.home}/srv/node_modules"}

    def test_the_entry_can_name_what_else_is_readable(self, land: Land) -> None:
        land.write("libs/data.json", "{}")

        found = land.readable_of(command="serve", readable=("${userHome}/libs", "${userHome}/Documents"))

        assert found == (f"{land.home}/libs", str(land.documents))
        with pytest.raises(RightsError, match=r"/missing in its `readable` is not there"):
            land.readable_of(command="serve", readable=("${userHome}/missing",))
        with pytest.raises(RightsError, match=r"/\.ssh in its `readable` is hidden"):
            land.readable_of(command="serve", readable=("${userHome}/.ssh",))


def test_the_login_that_a_server_of_others_uses_is_shown(tmp_path: Path) -> None:
    place = ServerPlace(Home(tmp_path), {"HOST": "far"}, str(tmp_path), SandboxOptions)
    server = ConfiguredServer("x", ServerEntry(url="https://${HOST}.example/mcp"), Source("x", "project"), "digest")
    assert "logged in" not in described(server, place)
    (tmp_path / "mcp-auth.json").write_text('{"https://far.example/mcp": {"type": "oauth", "access": "token"}}')
    (tmp_path / "mcp-auth.json").chmod(0o600)

    assert "You are logged in at https://far.example/mcp: it uses your login" in described(server, place)
