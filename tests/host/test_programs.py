"""Programs that kaa executes are found where no sandboxed command can write, whatever PATH says."""

import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

from kaa.host.client_settings import exposed_setting, starts_module_here
from kaa.host.programs import HostPrograms, host_programs
from kaa.workspace.places import Places

SAFE = {"PYTHONSAFEPATH": "1", "CLOUDSDK_PYTHON_ARGS": "-E"}


class Machine(NamedTuple):
    """A project, a directory of the user's own programs, and programs that can be found with a PATH."""

    project: Path
    programs: Path

    def on(self, *entries: str | Path, **variables: str) -> HostPrograms:
        return HostPrograms({"PATH": ":".join(map(str, entries)), **variables}, (str(self.project),))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    project, programs = tmp_path / "project", tmp_path / "bin"
    (project / "bin").mkdir(parents=True)
    programs.mkdir()
    return Machine(project, programs)


def install(folder: Path, name: str = "gh", content: str = "#!/bin/sh\n") -> str:
    path = folder / name
    path.write_text(content)
    path.chmod(0o755)
    return str(path)


def test_what_lies_outside_is_found(machine: Machine) -> None:
    path = install(machine.programs)

    assert machine.on(machine.programs).find("gh") == path
    assert machine.on("/usr/bin").find(path) == path
    assert machine.on(machine.programs).refusal("gh") == ""


def test_the_next_one_is_taken_where_the_first_is_the_projects(machine: Machine) -> None:
    install(machine.project / "bin")
    path = install(machine.programs)

    assert machine.on(machine.project / "bin", machine.programs).find("gh") == path


def test_the_one_of_another_project_in_which_commands_could_write_is_not_taken(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = install(machine.project / "bin")
    monkeypatch.chdir(machine.programs)
    environ = {"PATH": str(machine.project / "bin"), "HOME": str(tmp_path / "home")}
    assert host_programs(environ).find("gh") == theirs
    (tmp_path / "home/.cache/kaa/caches" / quote(str(machine.project), safe="")).mkdir(parents=True)

    assert host_programs(environ).find("gh") is None
    assert host_programs(environ).left_out == (str(machine.project / "bin"),)
    assert "outside of projects" in host_programs(environ).refusal("gh")


def test_one_named_by_a_path_is_not_taken_from_a_folder_that_was_added(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = install(machine.programs)
    environ = {"PATH": "/usr/bin", "HOME": str(tmp_path / "home"), "KAA_DIR": str(tmp_path / "kaa")}
    assert HostPrograms(environ, ()).find(path) == path
    Places.of(environ, environ["HOME"], str(tmp_path / "elsewhere")).note_added([str(machine.programs)])

    assert HostPrograms(environ, ()).find(path) is None
    assert HostPrograms(environ, ()).exposed(path) == path
    assert HostPrograms(environ, ()).refusal(path) == (
        f"kaa does not execute {path}: commands in the sandbox can write {path}, or could in another run:"
        f" {machine.programs} was added to a project (--add-dir): look at the file, then remove the line of"
        f" {machine.programs} from {tmp_path}/kaa/projects-added"
    )
    toolchain = environ | {"PATH": f"{machine.programs}:/usr/bin"}
    assert HostPrograms(toolchain, ()).find(path) == HostPrograms(toolchain, ()).find("gh") == path


def test_a_script_named_by_a_path_is_not_taken_if_it_has_another_name(machine: Machine, tmp_path: Path) -> None:
    path = install(machine.programs)
    (machine.project / "same").hardlink_to(path)

    assert machine.on("/usr/bin").find(path) is None
    assert f"{path} is a hard link" in machine.on("/usr/bin").refusal(path)
    assert machine.on(machine.programs).find("gh") == path


def test_where_there_is_only_the_projects_the_reason_is_said(machine: Machine) -> None:
    path = install(machine.project / "bin")
    programs = machine.on(machine.project / "bin")

    assert programs.find("gh") is None
    assert programs.find(path) is None
    assert programs.refusal("gh").startswith(f"kaa does not execute {path}: commands in the sandbox can write it")
    assert programs.refusal("other") == ""


@pytest.mark.parametrize("entry", ["", ".", "bin", "./bin"])
def test_no_entry_depends_on_the_current_directory(
    machine: Machine, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(machine.programs)
    monkeypatch.chdir(machine.programs if entry in ("", ".") else machine.programs.parent)

    assert machine.on(entry).find("gh") is None
    assert "PATH" in machine.on(entry).environment()
    assert machine.on(entry).environment()["PATH"] == os.defpath


def test_links_into_the_project_are_the_projects(machine: Machine, tmp_path: Path) -> None:
    install(machine.project / "bin")
    (machine.programs / "gh").symlink_to(machine.project / "bin" / "gh")
    (tmp_path / "links").symlink_to(machine.project / "bin")
    (machine.project / "way").symlink_to(tmp_path / "honest")
    install_folder = tmp_path / "honest"
    install_folder.mkdir()
    install(install_folder)
    (tmp_path / "through").symlink_to(machine.project / "way")

    assert machine.on(machine.programs).find("gh") is None
    assert machine.on(tmp_path / "links").find("gh") is None
    assert machine.on(tmp_path / "through").find("gh") is None
    assert machine.on(install_folder).find("gh") is not None


def test_links_of_a_directory_are_followed_again_when_it_has_changed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directories of a machine have hundreds of links: to follow them takes 20 ms."""
    listed: list[str] = []
    scandir = os.scandir

    def noting(path: str) -> "os._ScandirIterator[str]":
        listed.append(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", noting)
    monkeypatch.setattr(time, "monotonic", lambda: 30.0)  # no minute ends meanwhile
    (machine.programs / "sh").symlink_to("/bin/sh")
    os.utime(machine.programs, (0, 0))

    before = [machine.on(machine.programs).environment() for _ in range(4)]

    assert listed == [str(machine.programs)]
    assert before == [SAFE | {"PATH": str(machine.programs)}] * 4
    (machine.programs / "gh").symlink_to(machine.project / "bin" / "gh")
    assert machine.on(machine.programs).environment() == SAFE | {"PATH": os.defpath}


def test_links_into_what_commands_can_write_by_now_count(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(machine.programs)
    environ = {"PATH": str(tmp_path / "links"), "HOME": str(tmp_path / "home")}
    (tmp_path / "links").mkdir()
    (tmp_path / "links/gh").symlink_to(machine.project / "bin/gh")
    before = host_programs(environ).environment()["PATH"]
    (tmp_path / "home/.cache/kaa/caches" / quote(str(machine.project), safe="")).mkdir(parents=True)

    after = host_programs(environ).environment()["PATH"]

    assert (before, after) == (str(tmp_path / "links"), os.defpath)


def test_links_in_a_circle_lead_nowhere(machine: Machine) -> None:
    (machine.programs / "gh").symlink_to(machine.programs / "gh")

    assert machine.on(machine.programs).find("gh") is None


def test_a_script_whose_interpreter_is_the_projects_is_the_projects(machine: Machine) -> None:
    python = install(machine.project / "bin", "python")
    install(machine.programs, content=f"#!{python} -s\n")

    assert machine.on(machine.programs).find("gh") is None
    assert "or what it leads to" in machine.on(machine.programs).refusal("gh")


def test_their_environment_leads_outside_too(machine: Machine) -> None:
    install(machine.project / "bin")
    linked = machine.programs.parent / "linked"
    linked.mkdir()
    (linked / "tool").symlink_to(machine.project / "bin" / "gh")
    inside, outside = str(machine.project / "lib"), str(machine.programs)
    programs = machine.on(
        machine.project / "bin",
        "",
        linked,
        outside,
        LD_LIBRARY_PATH=f"{inside}:{outside}:",
        LD_PRELOAD=f"{inside}/evil.so",
        PYTHONPATH="",
        PYTHONSTARTUP="evil.py",
        LANG="C",
    )

    assert programs.environment() == {"PATH": outside, "LD_LIBRARY_PATH": outside, "LANG": "C", **SAFE}
    assert programs.left_out == (str(machine.project / "bin"), "(empty)", str(linked))


_PLACES = (
    "BASH_ENV",
    "ENV",
    "GIT_CONFIG_GLOBAL",
    "GIT_EXEC_PATH",
    "GH_CONFIG_DIR",
    "LD_AUDIT",
    "OPENSSL_CONF",
    "PERLLIB",
)


@pytest.mark.parametrize("name", _PLACES)
def test_no_variable_names_code_or_settings_of_the_project(machine: Machine, name: str) -> None:
    inside, outside = str(machine.project / "lib"), str(machine.programs / "lib")
    linked = machine.programs / "linked"
    linked.symlink_to(inside)

    def kept(value: str) -> str | None:
        return machine.on("/usr/bin", **{name: value}).environment().get(name)

    assert [kept(value) for value in (inside, "lib", str(linked), outside)] == [None, None, None, outside]


@pytest.mark.parametrize("name", ["NODE_OPTIONS", "PERL5OPT", "RUBYOPT"])
def test_no_option_loads_code_of_the_project(machine: Machine, name: str) -> None:
    inside, outside = str(machine.project / "a.js"), str(machine.programs / "a.js")

    def kept(value: str) -> bool:
        return machine.on("/usr/bin", **{name: value}).environment().get(name) == value

    dropped = [
        f"--require {inside}",
        f"--require={inside}",
        "--require ./a.js",
        "-r a",
        "-Ilib",
        "-MEvil",
        f"-r{inside}",
    ]
    assert not any(map(kept, dropped))
    assert all(map(kept, ["--max-old-space-size=4096 --use-system-ca", "-w", f"--require {outside}"]))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GCONV_PATH", "{project}/gconv"),
        ("OPENSSL_MODULES", "modules"),
        ("LUA_PATH", "{project}/?.lua;;"),
        ("LUA_CPATH", "./?.so;;"),
        ("JAVA_TOOL_OPTIONS", "-Xmx2g -javaagent:{project}/agent.jar"),
        ("JAVA_TOOL_OPTIONS", "-javaagent:agent.jar"),
        ("JDK_JAVA_OPTIONS", "-cp lib"),
        ("JDK_JAVA_OPTIONS", "@arguments"),
        ("CLASSPATH", "."),
        ("GIO_MODULE_DIR", "{project}/modules"),
        ("CURL_HOME", "{project}"),
        ("GOFLAGS", "-toolexec={project}/tool"),
        ("GOFLAGS", "-toolexec=./tool"),
        ("RUSTFLAGS", "-L{project}/lib"),
        ("LESSOPEN", "|{project}/bin/show %s"),
        ("LESSOPEN", "|'{project}/with blank/show' %s"),
        ("XDG_CONFIG_HOME", "~/../project/config"),
        ("BASH_FUNC_jq%%", "() {{ {project}/bin/jq; }}"),
        ("NOBODY_KNOWS_IT", "{project}/x"),
        ("NOBODY_KNOWS_IT", "bin/there"),
        ("NOBODY_KNOWS_IT", "there.cnf"),
        ("NOBODY_KNOWS_IT", "file://{project}/x"),
        ("NOBODY_KNOWS_IT", "{linked}/x"),
    ],
)
def test_no_variable_leads_programs_into_the_project(machine: Machine, name: str, value: str) -> None:
    linked = machine.programs / "linked"
    linked.symlink_to(machine.project)
    for path in ("bin/there", "there.cnf"):
        (machine.project / path).write_text("")
    variables = {name: value.format(project=machine.project, linked=linked), "HOME": str(machine.programs)}

    assert name not in machine.on("/usr/bin", **variables).environment()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, "{project}") for name in ("PWD", "OLDPWD", "VIRTUAL_ENV", "TMPDIR", "PROJECT_ROOT", "HOME")),
        ("DATABASE_URL", "sqlite:///{project}/data.db"),
        ("DIRENV_FILE", "{project}/.envrc"),
        ("SSH_AUTH_SOCK", "{project}/agent"),
        ("OPENSSL_CONF", "/etc/ssl/openssl.cnf"),
        ("JAVA_TOOL_OPTIONS", "-Xmx2g -Dfile.encoding=UTF-8 -javaagent:/opt/agent.jar"),
        ("LESSOPEN", "|/usr/bin/lesspipe %s"),
        ("LANG", "en_US.UTF-8"),
        ("TZ", "Europe/Berlin"),
        ("NODE_ENV", "bin"),
        ("IMAGE", "owner/name:1.2"),
        ("PS1", r"\u@\h:\w .. $ "),
        ("PROXY", "https://user@proxy.example.com:80/x.y"),
        ("OTHER", "{project}-other/x"),
        ("OTHER", "-O2 -g --with=x 1.5"),
    ],
)
def test_other_variables_stay(machine: Machine, name: str, value: str) -> None:
    text = value.format(project=machine.project)

    assert machine.on("/usr/bin", **{name: text}).environment()[name] == text


def test_of_a_list_the_entries_outside_stay(machine: Machine) -> None:
    programs = machine.on("/usr/bin", XDG_DATA_DIRS=f"{machine.project}/share:/usr/share")

    assert programs.environment()["XDG_DATA_DIRS"] == "/usr/share"


def test_no_git_settings_of_the_users_stay_none(machine: Machine) -> None:
    variables = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": ""}

    assert machine.on("/usr/bin", **variables).environment() == {"PATH": "/usr/bin", **variables, **SAFE}


def test_the_project_need_not_exist_yet(tmp_path: Path) -> None:
    programs = HostPrograms({"PATH": str(tmp_path / "later")}, (str(tmp_path),))

    assert programs.environment()["PATH"] == os.defpath


def test_where_all_is_the_project_programs_are_found(machine: Machine) -> None:
    path = install(machine.programs)

    assert HostPrograms({"PATH": str(machine.programs)}, ("/",)).find("gh") == path


def test_ordinary_programs_of_the_machine_are_found() -> None:
    shell = HostPrograms({"PATH": "/usr/bin:/bin"}, (sysconfig.get_path("scripts"),)).find("sh")

    assert shell is not None


@pytest.mark.parametrize(
    ("name", "value", "is_exposed"),
    [
        ("KUBECONFIG", "/etc/kube:{project}/kube", True),
        ("GIT_SSH_COMMAND", "ssh -F {project}/config", True),
        ("GIT_CONFIG_VALUE_0", "{project}/x", True),
        ("KUBECONFIG", "/etc/kube", False),
        ("GIT_CEILING_DIRECTORIES", "{project}/..", False),
        ("MY_CONFIG", "{project}/config", False),
        ("TWINE_REPOSITORY_URL", "https://example.com/x", False),
    ],
)
def test_a_variable_that_has_clients_obey_files_of_the_project_is_known(
    machine: Machine, name: str, value: str, is_exposed: bool
) -> None:
    variables = {name: value.format(project=machine.project)}

    assert exposed_setting(variables, machine.on("/usr/bin")) == (name if is_exposed else None)


def test_a_directory_that_git_may_work_in_is_no_setting_that_it_obeys(machine: Machine) -> None:
    variables = {"GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": str(machine.project)}

    assert exposed_setting(variables, machine.on("/usr/bin")) is None


@pytest.mark.parametrize(
    ("script", "is_told"),
    [
        ("#!{python}\nos.execl(sys.executable, sys.executable, '-m', 'azure.cli', *sys.argv[1:])\n", True),
        ('#!/bin/sh\nexec {python} -sm azure.cli "$@"\n', True),
        ('#!/bin/sh\nexec {python} -Im azure.cli "$@"\n', False),
        ('#!/bin/sh\nexec {newer} -m azure.cli "$@"\n', False),
        ('#!/bin/sh\nexec {newer} -E -m azure.cli "$@"\n', True),
        ('#!/bin/sh\nexec {newer} -sEm azure.cli "$@"\n', True),
        ('#!/bin/sh\nexec {newer} -E -P -m azure.cli "$@"\n', False),
        ('#!/bin/sh\ncp -P a b; exec {python} -m azure.cli "$@"\n', True),
        ('#!/bin/sh\n{python} -I -m check; exec {python} -m azure.cli "$@"\n', True),
        ('#!/bin/sh\nexec env -i {newer} -m azure.cli "$@"\n', True),
        ('#!/bin/sh\nunset PYTHONSAFEPATH\nexec {newer} -m azure.cli "$@"\n', True),
        ("#!{newer}\nos.execv(exe, [\n    exe,\n    '-E',\n    '-m',\n    'azure.cli'])\n", True),
        ("#!{newer}\nos.execv(exe, [\n    exe,\n    '-I',\n    '-m',\n    'azure.cli'])\n", False),
        ("#!{python}\nfrom azure.cli import main\nmain()\n", False),
        ("a compiled program", False),
    ],
)
def test_a_script_that_starts_a_module_with_an_older_python_is_found(
    machine: Machine, script: str, is_told: bool
) -> None:
    python = install(machine.programs, "python3.10")
    newer = install(machine.programs, "python3.11")
    path = install(machine.programs, "az", script.format(python=python, newer=newer))

    assert starts_module_here("az", machine.on(machine.programs)) == (path if is_told else None)


def test_python_and_perl_load_nothing_of_the_current_directory(machine: Machine) -> None:
    (machine.project / "json.py").write_text("print('planted')")
    environment = machine.on("/usr/bin:/bin", PERL_USE_UNSAFE_INC="1").environment()

    loaded = subprocess.run(
        [sys.executable, "-c", "import json"], cwd=machine.project, env=environment, capture_output=True, check=True
    )

    assert loaded.stdout == (b"" if sys.version_info >= (3, 11) else b"planted\n")
    assert "PERL_USE_UNSAFE_INC" not in environment
