"""Values that name variables or commands."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from kaa.host import lone_pythons
from kaa.llm.auth import key_commands
from kaa.llm.auth.config_values import ConfigValues
from kaa.llm.auth.errors import CredentialError
from kaa.workspace.places import Places
from tests.support.tables import each


@each(
    ("value", "expected"),
    [
        ("plain", "plain"),
        ("$KEY", "k1"),
        ("${KEY}", "k1"),
        ("Bearer ${KEY}$OTHER!", "Bearer k1k2!"),
        ("$$KEY", "$KEY"),
        ("$!echo", "!echo"),
        ("costs 5$", "costs 5$"),
        ("$1", "$1"),
        ("KEY", "KEY"),
        ("!printf '  from command\\n'", "from command"),
    ],
)
def test_values_stand_for_text_variables_and_commands(value: str, expected: str) -> None:
    values = ConfigValues({"KEY": "k1", "OTHER": "k2"})

    assert values.can_evaluate(value)
    assert values.evaluate(value, "here") == expected


@pytest.mark.parametrize("environ", [{}, {"KEY": ""}])
def test_an_unset_variable_is_named(environ: dict[str, str]) -> None:
    values = ConfigValues(environ)

    assert not values.can_evaluate("x${KEY}")
    with pytest.raises(CredentialError, match=r"auth.json: a.key uses \$KEY, but that variable is not set"):
        values.evaluate("x${KEY}", "auth.json: a.key")


def test_a_command_runs_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    values = ConfigValues({})

    results = [values.evaluate(f"!echo run >> {log}; echo key", "here") for _ in range(3)]

    assert results == ["key"] * 3
    assert log.read_text() == "run\n"


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("echo first >&2; echo locked >&2; exit 3", "status 3: locked"),
        ("exit 1", "it said nothing"),
        ("true", "nothing"),
    ],
)
def test_a_command_that_fails_is_reported(command: str, complaint: str) -> None:
    with pytest.raises(CredentialError, match=complaint):
        ConfigValues({}).evaluate("!" + command, "here")


def test_a_command_that_hangs_is_killed_with_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_commands, "_TIMEOUT_SECONDS", 0.2)

    with pytest.raises(CredentialError, match=r"longer than 0\.2 s"):
        ConfigValues({}).evaluate("!sleep 1000 & sleep 1000; echo never", "here")


@pytest.mark.parametrize("line", ["~/other/key.sh", "cd other && ./key.sh"])
def test_a_command_executes_nothing_that_commands_could_write_in_a_project(tmp_path: Path, line: str) -> None:
    script = tmp_path / "other/key.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\ntouch ~/canary; echo key")
    script.chmod(0o755)
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    (tmp_path / ".cache/kaa/caches" / quote(str(script.parent), safe="")).mkdir(parents=True)

    with pytest.raises(CredentialError, match="here"):
        ConfigValues(environ).evaluate("!" + line, "here")

    assert not (tmp_path / "canary").exists()
    assert ConfigValues(environ).evaluate("!echo key", "here") == "key"


class TestScriptsOfTheUser:
    """They have the user's rights, and may source or import what no word of the line names."""

    @pytest.fixture
    def environ(self, tmp_path: Path) -> dict[str, str]:
        project = tmp_path / "dev/app"
        project.mkdir(parents=True)
        (tmp_path / "bin").mkdir()
        (tmp_path / ".cache/kaa/caches" / quote(str(project), safe="")).mkdir(parents=True)
        return {"HOME": str(tmp_path), "PATH": f"{tmp_path}/bin:/usr/bin:/bin"}

    @pytest.mark.parametrize("line", ["!~/bin/key.sh", "!key.sh"])
    def test_a_script_does_not_source_what_commands_write(
        self, tmp_path: Path, environ: dict[str, str], line: str
    ) -> None:
        script = tmp_path / "bin/key.sh"
        script.write_text('#!/bin/sh\n. ~/dev/app/.env; echo "$KEY"\n')
        script.chmod(0o755)
        (tmp_path / "dev/app/.env").write_text("KEY=x\ntouch ~/canary\n")

        with pytest.raises(CredentialError, match="here"):
            ConfigValues(environ).evaluate(line, "here")

        assert not (tmp_path / "canary").exists()

    def test_a_program_in_python_of_the_distribution_sees_no_project_that_its_packages_lead_to(
        self, tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(key_commands, "_DISTRIBUTION", (str(tmp_path / "bin"),))
        (tmp_path / "bin/aws").write_text(f"#!{os.path.realpath(sys.executable)}\nprint('key')\n")
        (tmp_path / "bin/aws").chmod(0o755)
        assert not key_commands.wrapped("aws key", "here", environ)

        packages = tmp_path / f".local/lib/python3.{sys.version_info[1]}/site-packages"
        packages.mkdir(parents=True)
        (packages / "app.pth").write_text(f"{tmp_path}/dev/app/missing\n")
        lone_pythons._is_led_into_projects.cache_clear()

        assert key_commands.wrapped("aws key", "here", environ)

    @pytest.mark.parametrize("line", ["!~/bin/key.sh", "!key.sh", "!echo $(key.sh)", "!sh -c 'key.sh'"])
    def test_a_script_that_is_a_hard_link_is_not_executed(
        self, tmp_path: Path, environ: dict[str, str], line: str
    ) -> None:
        script = self._script(tmp_path / "bin/key.sh")
        (tmp_path / "dev/app/key.sh").hardlink_to(script)

        with pytest.raises(CredentialError, match=r"bin/key\.sh, which is a hard link") as refused:
            ConfigValues(environ).evaluate(line, "here")

        assert not (tmp_path / "canary").exists()
        _, remedy, _ = str(refused.value).split("`")
        subprocess.run(remedy, shell=True, check=True)
        assert _printed(environ, line) == "key"

    @pytest.mark.parametrize("line", ["!~/dev/lib/key.sh", "!cd ~/dev/lib && ./key.sh", "!other.sh"])
    def test_a_script_in_a_directory_that_was_added_once_is_not_executed(
        self, tmp_path: Path, environ: dict[str, str], line: str
    ) -> None:
        self._script(tmp_path / "dev/lib/key.sh")
        self._script(tmp_path / "bin/other.sh", "~/dev/lib/key.sh")
        Places.of(environ, str(tmp_path), str(tmp_path / "dev/app")).note_added([str(tmp_path / "dev/lib")])

        with pytest.raises(CredentialError, match="here"):
            ConfigValues(environ).evaluate(line, "here")

        assert not (tmp_path / "canary").exists()
        (tmp_path / ".kaa/agent/projects-added").write_text("")
        assert _printed(environ, line) == "key"

    def test_a_toolchain_in_a_directory_that_was_added_once_is_found(
        self, tmp_path: Path, environ: dict[str, str]
    ) -> None:
        self._script(tmp_path / "tools/bin/tool")
        self._script(tmp_path / "bin/key.sh", "tool")
        environ["PATH"] += f":{tmp_path}/tools/bin"
        Places.of(environ, str(tmp_path), str(tmp_path / "dev/app")).note_added([str(tmp_path / "tools")])

        assert _printed(environ, "!key.sh") == "key"

    @staticmethod
    def _script(file: Path, line: str = "touch ~/canary; echo key") -> Path:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{line}\n")
        file.chmod(0o755)
        return file

    def test_a_script_that_needs_no_project_works(self, tmp_path: Path, environ: dict[str, str]) -> None:
        script = tmp_path / "bin/key.sh"
        script.write_text("#!/bin/sh\necho key\n")
        script.chmod(0o755)

        assert _printed(environ, "!key.sh") == "key"
        assert ConfigValues(environ).evaluate("!echo key", "here") == "key"

    def test_settings_that_commands_write_are_not_seen_by_the_program(
        self, tmp_path: Path, environ: dict[str, str]
    ) -> None:
        (tmp_path / "dev/app/jq").write_text('def key: "theirs";')
        (tmp_path / ".jq").symlink_to(tmp_path / "dev/app/jq")
        (tmp_path / "bin/jq").symlink_to("/bin/echo")

        assert _printed(environ, "!jq key") == "key"
        assert key_commands.wrapped("jq key", "here", environ)
        assert not key_commands.wrapped("echo key", "here", environ)


def _printed(environ: dict[str, str], line: str) -> str:
    """What a command prints; a kernel without namespaces cannot hide anything from it."""
    try:
        return ConfigValues(environ).evaluate(line, "here")
    except CredentialError as error:
        if "namespace" in str(error):
            pytest.skip(str(error))
        raise
