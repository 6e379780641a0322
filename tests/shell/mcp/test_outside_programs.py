"""What programs outside of a project load of it is known: editable installs, linked packages, what scripts name."""

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest

from kaa.shell.home import Home
from kaa.shell.mcp import outside_folders
from kaa.shell.mcp.code import FILES, FOLDER, code_of, differences
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry, Source
from kaa.shell.mcp.outside_folders import OutsideFolders
from kaa.shell.mcp.outside_programs import file_named_outside
from kaa.shell.mcp.place import ServerCommandLine, ServerPlace
from kaa.workspace.sandbox.options import SandboxOptions

PACKAGES = "lib/python3.12/site-packages"
MODULE, SCRIPT = "acme/src/acme_mcp/server.py", "acme/index.js"


class Machine:
    """A project with a server, and the home of a user who installed it.

    Args:
        base: a folder for both.
    """

    def __init__(self, base: Path) -> None:
        self.project, self.home = base / "project", base / "home"
        for name in (MODULE, "acme/src/acme_mcp/__init__.py", SCRIPT):
            self.write(self.project / name, "")
        self.write(self.project / "acme/package.json", '{"name": "acme-mcp", "bin": "index.js"}')
        self.home.mkdir()

    def write(self, file: Path, text: str, mode: int = 0o644) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)

    def install(self, files: Mapping[str, str]) -> None:
        """Make files of the home; those that begin with `-> ` are links. `PROJECT` and `HOME` stand for the folders."""
        for name, content in files.items():
            path, text = (
                self.home / name,
                re.sub(r"(?<!\$)HOME", str(self.home), content.replace("PROJECT", str(self.project))),
            )
            if text.startswith("-> "):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.symlink_to(text[3:])
            else:
                self.write(path, text, 0o755)

    def code(self, command: str, cwd: str = "", env: Mapping[str, str] | None = None) -> dict[str, str]:
        """Of a command line whose words are separated by ` ; `, or else by blanks."""
        return code_of(*self._configured(command, cwd, env))

    def file(self, command: str) -> str:
        """A file with code that the texts of a command line name, whether it is there or not."""
        server, place = self._configured(command)
        return file_named_outside(ServerCommandLine.of(server, place), place, OutsideFolders())

    def _configured(
        self, command: str, cwd: str = "", env: Mapping[str, str] | None = None
    ) -> tuple[ConfiguredServer, ServerPlace]:
        line = command.replace("HOME", str(self.home))
        name, *arguments = line.split(" ; ") if " ; " in line else line.split()
        folders = [self.home / ".pyenv/shims", self.home / ".local/bin", self.home / "npm/bin"]
        path = ":".join(map(str, (*folders, self.project / ".venv/bin", "/usr/bin", "/bin")))
        place = ServerPlace(
            Home(self.home / "kaa"), {"HOME": str(self.home), "PATH": path}, str(self.project), SandboxOptions
        )
        entry = ServerEntry(command=name, args=tuple(arguments), cwd=cwd, env=dict(env or {}))
        return ConfiguredServer("one", entry, Source("/file", "user"), "digest"), place

    def notices(self, command: str, changed: str, cwd: str = "") -> bool:
        """Whether a change of a file of the project changes the code of a server."""
        before = self.code(command, cwd)
        (self.project / changed).write_text("changed")
        return f"changed: {self.project / changed}" in differences(before, self.code(command, cwd))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path.resolve())


VENV = {
    "env/pyvenv.cfg": "home = /usr/bin",
    "env/bin/python": "-> /usr/bin/python3",
    "env/bin/acme-mcp": "#!HOME/env/bin/python\nfrom acme_mcp.server import main",
    "env/bin/activate": "VIRTUAL_ENV=HOME/env",
}


@pytest.mark.parametrize(
    "installed",
    [
        {f"{PACKAGES}/_acme.pth": "PROJECT/acme/src\n"},
        {f"{PACKAGES}/easy-install.pth": "../../../../../project/acme/src\n"},
        {f"{PACKAGES}/acme.egg-link": "PROJECT/acme/src\n."},
        {f"{PACKAGES}/__editable___acme_finder.py": "MAPPING = {'acme_mcp': 'PROJECT/acme/src/acme_mcp'}"},
        {f"{PACKAGES}/__editable___acme_finder.py": "MAPPING = {'server': 'PROJECT/acme/src/acme_mcp/server'}"},
        {
            f"{PACKAGES}/_acme_editable.pth": "import _acme_editable",
            f"{PACKAGES}/_acme_editable.py": "install({'acme_mcp': 'PROJECT/acme/src/acme_mcp/__init__.py'})",
        },
        {f"{PACKAGES}/acme_mcp": "-> PROJECT/acme/src/acme_mcp"},
        {
            f"{PACKAGES}/acme-1.dist-info/direct_url.json": (
                '{"dir_info": {"editable": true}, "url": "file://PROJECT/acme"}'
            )
        },
    ],
)
def test_code_that_an_environment_outside_imports_is_known(machine: Machine, installed: dict[str, str]) -> None:
    machine.install({**VENV, **{f"env/{path}": text for path, text in installed.items()}})

    assert machine.notices("HOME/env/bin/acme-mcp", MODULE)


@pytest.mark.parametrize(
    "command",
    [
        "HOME/env/bin/python -m acme_mcp.server",
        "env X=1 HOME/env/bin/acme-mcp",
        "sh ; -c ; . HOME/env/bin/activate && HOME/env/bin/acme-mcp",
        "sh ; -c ; . HOME/env/bin/activate && only-there",
        "acme-home",
        "acme-named",
        "acme-activated",
        "uv run --python=HOME/env/bin/python --no-project -m acme_mcp.server",
        "acme-mcp",
        "HOME/.local/bin/acme-mcp",
        "uvx acme-mcp",
        "env acme-mcp",
        "acme-wrapped",
        "acme-long",
        "HOME/servers/one/start.sh",
        "conda run -n app acme",
        "HOME/conda/bin/conda run --name=app acme",
        "micromamba run -n app acme",
        "HOME/.local/bin/user-installed",
        "uv --directory HOME/servers/two run server.py",
        "uv run --project HOME/servers/two HOME/servers/two/server.py",
        "uv run --script HOME/servers/three/server.py",
        "python3 HOME/servers/four.py",
        "uv run HOME/servers/five.py",
        "of-pyenv",
        "env of-pyenv",
    ],
)
def test_each_way_to_start_an_installed_program_is_known(machine: Machine, command: str) -> None:
    environments = ["env", ".local/share/uv/tools/acme", ".conda/envs/app", "micromamba/envs/app"]
    environments += ["conda/envs/app", "servers/two/.venv", ".pyenv/versions/3.12.1"]
    machine.install(VENV)
    machine.install({f"{one}/{PACKAGES}/acme.pth": "PROJECT/acme/src\n" for one in environments})
    machine.install({f"{one}/conda-meta/history": "" for one in environments if "envs" in one})
    machine.install(
        {
            ".local/share/uv/tools/acme/pyvenv.cfg": "",
            ".local/share/uv/tools/acme/bin/acme-mcp": "#!HOME/.local/share/uv/tools/acme/bin/python",
            ".local/bin/acme-mcp": "-> HOME/.local/share/uv/tools/acme/bin/acme-mcp",
            ".local/bin/acme-wrapped": '#!/bin/sh\nexec "HOME/env/bin/python" -m acme_mcp.server "$@"\n',
            ".local/bin/acme-long": "#!/bin/sh\n'''exec' \"HOME/env/bin/python\" \"$0\" \"$@\"\n' '''\n",
            ".local/bin/acme-home": '#!/bin/sh\nexec "$HOME/env/bin/python" -m acme_mcp.server "$@"\n',
            ".local/bin/acme-named": "#!/bin/sh\nset -eu\nexec acme-mcp --port 1\n",
            ".local/bin/acme-activated": "#!/bin/bash\nsource ~/env/bin/activate\nonly-there\n",
            "servers/one/start.sh": '#!/bin/sh\nexec "$(dirname "$0")/../../env/bin/acme-mcp"\n',
            "conda/bin/conda": "#!/usr/bin/env python3",
            ".pyenv/version": "3.12.1",
            ".pyenv/shims/of-pyenv": '#!/usr/bin/env bash\nexec "HOME/.pyenv/libexec/pyenv" exec "$program" "$@"\n',
            ".pyenv/versions/3.12.1/bin/of-pyenv": "#!HOME/.pyenv/versions/3.12.1/bin/python3.12\n",
            ".pyenv/versions/3.12.1/bin/python3.12": "",
            "servers/two/server.py": "",
            "servers/two/.venv/pyvenv.cfg": "",
            "servers/three/pyproject.toml": '[tool.uv.sources]\nacme = {path = "../../../project/acme"}',
            "servers/three/server.py": "",
            "servers/four.py": "import sys\nsys.path.insert(0, 'PROJECT/acme/src')",
            "servers/five.py": "# /// script\n# [tool.uv.sources]\n# acme = {path = 'PROJECT/acme'}\n# ///",
        }
    )
    if "user" in command:
        machine.install(
            {
                ".local/bin/user-installed": "#!/usr/bin/python3",
                ".local/lib/python3.12/site-packages/acme.pth": "PROJECT/acme/src",
            }
        )

    assert machine.notices(command, MODULE)


@pytest.mark.parametrize(
    "command",
    [
        "acme-js",
        "HOME/npm/bin/acme-js",
        "npx acme-js",
        "npx acme-mcp",
        "npx -y @acme/mcp",
        "env acme-js",
        "acme-pnpm",
        "acme-deno",
        "node HOME/servers/app/index.js",
        "node HOME/servers/scoped/index.js",
        "HOME/servers/copied/start",
    ],
)
def test_linked_packages_of_node_are_known(machine: Machine, command: str) -> None:
    machine.install(
        {
            "npm/lib/node_modules/acme-mcp": "-> PROJECT/acme",
            "npm/lib/node_modules/@acme/mcp": "-> PROJECT/acme",
            "npm/bin/acme-js": "-> ../lib/node_modules/acme-mcp/index.js",
            ".local/bin/global/5/node_modules/acme-mcp": "-> PROJECT/acme",
            ".local/bin/acme-pnpm": (
                '#!/bin/sh\nbasedir=$(dirname "$(echo "$0")")\n'
                'exec node  "$basedir/global/5/node_modules/acme-mcp/index.js" "$@"\n'
            ),
            ".local/bin/acme-deno": "#!/bin/sh\nexec deno run -A --no-config 'file://PROJECT/acme/index.js' \"$@\"\n",
            "servers/app/index.js": "require('acme-mcp')",
            "servers/app/node_modules/acme-mcp": "-> PROJECT/acme",
            "servers/scoped/index.js": "",
            "servers/scoped/package.json": "{}",
            "servers/scoped/node_modules/@acme/mcp": "-> PROJECT/acme",
            "servers/copied/start": "#!/bin/bash\ncd PROJECT/acme && exec node index.js\n",
        }
    )
    (machine.project / SCRIPT).chmod(0o755)

    assert machine.notices(command, SCRIPT)


@pytest.mark.parametrize(
    "command",
    [
        "HOME/env/bin/other",
        "HOME/isolated/bin/python -m other",
        "npx -y @modelcontextprotocol/server-filesystem . HOME/notes",
        "env planted",
        "node HOME/npm/lib/node_modules/other/index.js",
        "docker run image acme-mcp HOME/env/bin/acme-mcp",
        "HOME/bin/serve-notes",
        "uv",
    ],
)
def test_programs_that_load_nothing_of_the_project_need_no_approval(machine: Machine, command: str) -> None:
    machine.install(VENV)
    machine.install(
        {
            f"env/{PACKAGES}/acme.pth": "PROJECT/acme/src",
            "env/bin/other": "\x7fELF\0PROJECT/acme/index.js",
            "notes/node_modules/acme-mcp": "-> PROJECT/acme",
            "isolated/pyvenv.cfg": "include-system-site-packages = false",
            "isolated/bin/python": "-> /usr/bin/python3",
            ".local/bin/uv": "-> HOME/env/bin/other",
            f".local/{PACKAGES}/acme.pth": "PROJECT/acme/src",
            "npm/lib/node_modules/acme-mcp": "-> PROJECT/acme",
            "npm/lib/node_modules/other/index.js": "",
            "bin/serve-notes": "#!/bin/sh\n# see PROJECT/acme/index.js\nexec serve --root PROJECT --log PROJECT/a.log",
        }
    )

    machine.write(machine.project / ".venv/bin/planted", "#!/bin/sh", 0o755)

    assert machine.code(command) == {}


def test_files_outside_that_cannot_be_read_are_passed_by(machine: Machine) -> None:
    machine.install(VENV)
    (machine.home / "env" / PACKAGES / "folder.pth").mkdir(parents=True)
    (machine.home / "servers/Makefile").mkdir(parents=True)
    machine.install({f"env/{PACKAGES}/acme.pth": "PROJECT/acme/src", "servers/one.py": ""})
    machine.install({"env/lib/python3.13/site-packages": "no folder"})

    assert machine.notices("HOME/env/bin/python HOME/servers/one.py", MODULE)


def test_the_folder_where_an_installed_module_starts_is_no_code_of_it(machine: Machine) -> None:
    """It starts in its own folder instead, since Python would import from there first."""
    machine.install({**VENV, f"env/{PACKAGES}/acme.pth": "PROJECT/acme/src"})

    code = machine.code("HOME/env/bin/python -m acme_mcp.server")

    assert code[str(machine.project / "acme/src")] == FOLDER
    assert code.get(str(machine.project)) != FILES


_CHOOSING = (".tool-versions", "mise.toml", ".config/mise/config.toml", ".python-version")
_ENDING_IN_A_SHIM = ("HOME/bin/scripted", "HOME/bin/executed", "HOME/bin/started", "env HOME/bin/linked")


@pytest.mark.parametrize(
    ("command", "chosen"), [*product(["HOME/bin/linked"], _CHOOSING), *product(_ENDING_IN_A_SHIM, _CHOOSING[:1])]
)
def test_files_that_choose_the_version_of_a_shim_are_known(machine: Machine, command: str, chosen: str) -> None:
    """A script cannot be given the version of the home, as an entry can that names the shim.

    They count where the entry says that it starts in the project: else the shim does not find them.
    """
    machine.install(
        {
            ".local/bin/mise": "\x7fELF\0",
            ".asdf/shims/node": '#!/bin/sh\nexec HOME/.asdf/bin/asdf exec "node" "$@"\n',
            "bin/node": "-> HOME/.local/bin/mise",
            "bin/linked": '#!/bin/sh\nexec HOME/bin/node "$HOME"/own.js\n',
            "bin/scripted": "#!HOME/.asdf/shims/node\n",
            "bin/executed": "#!/bin/sh\nexec mise x -- node own.js\n",
            "bin/started": '#!/bin/sh\nexec "$HOME"/.asdf/shims/node own.js\n',
        }
    )
    before = machine.code(command, cwd=".")
    machine.write(machine.project / chosen, "nodejs path:./acme/bin\n")
    machine.write(machine.project / "acme/bin/node", "", 0o755)

    code = machine.code(command, cwd=".")

    assert code.keys() - before.keys() >= {str(machine.project / chosen)}
    assert machine.notices(command, "acme/bin/node", cwd=".")
    assert not [path for path in before if path.endswith(chosen)]
    assert machine.code(command) == {}


def test_a_shim_that_an_entry_names_loads_what_the_version_of_the_home_loads(machine: Machine) -> None:
    python = ".pyenv/versions/3.12.1"
    machine.install(
        {
            ".pyenv/version": "3.12.1",
            ".pyenv/shims/python3": "#!/bin/sh\n",
            f"{python}/bin/python3": "",
            f"{python}/{PACKAGES}/acme.pth": "PROJECT/acme/src\n",
            "bin/python3": "-> HOME/.pyenv/shims/python3",
        }
    )

    assert machine.notices("HOME/bin/python3 -m acme_mcp.server", MODULE)


SAYS_PATH = 'export PATH="$HOME/dev/acme:$PATH"\n'.replace("$HOME/dev", "PROJECT")
SOURCES = "[ -f PROJECT/acme/index.js ] && . PROJECT/acme/index.js\n"
_NAMES = "import pathlib; runpy.run_path(pathlib.Path.home().parent / 'project' / 'tools' / 'say.py')"


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("bash ; -lc ; exec node x", {".profile": SOURCES}),
        ("bash ; -l ; -c ; exec node x", {".bash_profile": SOURCES}),
        ("bash ; --login ; -c ; exec node x", {".bash_login": SAYS_PATH}),
        ("env ; A=1 ; bash ; -e ; -lc ; exec node x", {".profile": '. "$HOME/env.sh"\n', "env.sh": SOURCES}),
        ("bash ; -ic ; exec node x", {".bashrc": SOURCES}),
        ("zsh ; -c ; exec node x", {".zshenv": SOURCES}),
        ("zsh ; -lc ; exec node x", {".zprofile": SAYS_PATH}),
        ("zsh ; -ic ; exec node x", {".config/zsh/.zshrc": "path+=(PROJECT/acme)\n"}),
        ("fish ; -c ; node x", {".config/fish/config.fish": "fish_add_path PROJECT/acme\n"}),
        ("fish ; -c ; node x", {".config/fish/conf.d/a.fish": "source PROJECT/acme/index.js\n"}),
        ("HOME/start", {"start": "#!/bin/bash -l\nexec node x\n", ".profile": SOURCES}),
        ("HOME/start", {"start": "#!/bin/sh\nexec bash -lc 'node x'\n", ".profile": SOURCES}),
        ("HOME/start", {"start": "#!/bin/zsh\nexec node x\n", ".zshenv": SOURCES}),
        ("HOME/start.py", {"start.py": "run(['bash', '-lc', 'x'])\n", ".profile": SOURCES}),
        ("HOME/start.js", {"start.js": "spawn('/bin/bash', ['-l', '-c', 'x'])\n", ".profile": SOURCES}),
        ("sudo ; -iu ; me ; x", {".bash_profile": SOURCES}),
        ("npx ; -y ; acme", {".npmrc": "node-options=--require PROJECT/acme/index.js\n"}),
        ("npm ; exec ; acme", {".npmrc": "script-shell=PROJECT/acme/index.js\n"}),
        ("uvx ; acme", {".config/uv/uv.toml": 'find-links = ["PROJECT/acme"]\n'}),
        ("bunx ; acme", {".bunfig.toml": 'preload = ["PROJECT/acme/index.js"]\n'}),
        ("cargo ; run", {".cargo/config.toml": '[build]\nrustc-wrapper = "PROJECT/acme/index.js"\n'}),
        ("gradle ; run", {".gradle/init.d/x.gradle": 'apply from: "PROJECT/acme/index.js"\n'}),
        ("mvn ; exec:java", {".mavenrc": ". PROJECT/acme/index.js\n"}),
        ("git ; serve", {".gitconfig": "[alias]\n serve = !PROJECT/acme/index.js\n"}),
        (
            "HOME/a.py",
            {"a.py": "run(['git', 'diff'])", ".gitconfig": '[diff "x"]\n textconv = PROJECT/acme/index.js\n'},
        ),
        ("ssh ; host ; acme", {".ssh/config": "Host host\n  ProxyCommand PROJECT/acme/index.js\n"}),
        ("terraform ; mcp", {".terraformrc": 'provider_installation { dev_overrides { "a/b" = "PROJECT/acme" } }'}),
        ("docker ; run ; x", {".docker/config.json": '{"cliPluginsExtraDirs": ["PROJECT/acme"]}'}),
        (
            "python3 ; HOME/a.py",
            {"a.py": "", f".local/{PACKAGES}/usercustomize.py": "exec(open('PROJECT/acme/index.js').read())"},
        ),
        ("julia ; HOME/a.jl", {"a.jl": "", ".julia/config/startup.jl": 'include("PROJECT/acme/index.js")\n'}),
        ("Rscript ; HOME/a.R", {"a.R": "", ".Rprofile": 'source("PROJECT/acme/index.js")\n'}),
        (
            "HOME/start",
            {"start": "#!/bin/sh\nexec mise x -- node x\n", ".config/mise/config.toml": "x='PROJECT/acme'\n"},
        ),
    ],
)
def test_what_programs_obey_in_the_home_is_known(machine: Machine, command: str, files: dict[str, str]) -> None:
    machine.install(files)

    assert machine.notices(command, SCRIPT)


@pytest.mark.parametrize(
    "command",
    [
        "bash ; -c ; exec node x",
        "sh ; -ec ; ls -l",
        "bash ; --noprofile ; -c ; exec node x",
        "HOME/start",
        "node ; x",
        "git ; serve",
        "ssh ; host",
        "server ; --bash-login",
    ],
)
def test_startup_files_of_other_programs_do_not_matter(machine: Machine, command: str) -> None:
    """What git and ssh are told as data does not, either."""
    machine.install(
        {
            "start": "#!/bin/bash\n# like bash -l\nexec node x\n",
            **dict.fromkeys(
                (".profile", ".bashrc", ".zshenv", ".zshrc", ".config/fish/config.fish", ".npmrc"), SOURCES
            ),
            ".gitconfig": "[safe]\n directory = PROJECT/acme\n[maintenance]\n repo = PROJECT/acme\n",
            ".ssh/config": "Host host\n  IdentityFile PROJECT/acme/index.js\n",
        }
    )

    assert machine.code(command) == {}


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("node HOME/own/build/index.js", {"own/build/index.js": 'import "../lib/x.mjs"', "own/lib/x.mjs": _NAMES}),
        ("node HOME/own/bin/x.js", {"own/bin/x.js": "require('..')", "own/index.js": _NAMES}),
        (
            "sh HOME/own/bin/x.sh",
            {"own/bin/x.sh": 'cd "$(dirname "$0")/.." && sh lib/run.sh', "own/lib/run.sh": _NAMES},
        ),
        (
            "python3 HOME/own/bin/x.py",
            {"own/bin/x.py": "sys.path.insert(0, str(Path(__file__).parent.parent / 'lib'))", "own/lib/x.py": _NAMES},
        ),
        ("ruby HOME/own/bin/x.rb", {"own/bin/x.rb": "require_relative '../lib/x'", "own/lib/x.rb": _NAMES}),
        ("python3 HOME/own/server.py", {"own/server.py": "from a.b.say import x", "own/a/b/say.py": _NAMES}),
        ("php HOME/own/artisan mcp", {"own/artisan": "#!/usr/bin/php\n", "own/app/Mcp/Say.php": _NAMES}),
        (
            "node HOME/own/build/x.js",
            {"own/package.json": "{}", "own/build/x.js": 'import "#say"', "own/tools/say.js": _NAMES},
        ),
    ],
)
def test_the_whole_package_of_a_script_outside_counts(machine: Machine, command: str, files: Mapping[str, str]) -> None:
    machine.write(machine.project / "tools/say.py", "")
    machine.install(files)

    assert str(machine.project / "tools/say.py") in machine.code(command)


@pytest.mark.parametrize("name", ["PYTHONPATH", "NODE_PATH", "RUBYLIB", "ACME_CONFIG_DIR"])
def test_a_folder_that_a_variable_names_counts(machine: Machine, name: str) -> None:
    machine.write(machine.project / "tools/say.py", "")
    machine.install({"own/ours/__main__.py": _NAMES})

    assert machine.code("python3 -m ours", env={name: f"{machine.home}/own"})
    assert not machine.code("python3 -m ours", env={"DATA_DIR": f"{machine.home}/own"})


@pytest.mark.parametrize("words", ["--config-dir HOME/own", "--plugins=HOME/own"])
def test_a_folder_with_settings_counts(machine: Machine, words: str) -> None:
    machine.write(machine.project / "tools/say.py", "")
    machine.install({"own/settings.yaml": "load: [~/../project/tools/say.py]", ".local/bin/ours": "#!/bin/sh\n"})

    assert machine.code(f"ours {words}")
    assert not machine.code(f"ours --data-dir {words.partition('HOME')[2]}")


@pytest.mark.parametrize(
    "files",
    [
        {"own/server.py": "", "other/x.py": _NAMES},
        {"own/server.py": "", "own/tests/test_x.py": _NAMES, "own/docs/x.py": _NAMES, "own/.git/x.py": _NAMES},
        {"own/server.py": "", "own/node_modules/x/index.js": _NAMES, "own/.venv/x.py": _NAMES},
        {"own/server.py": "import acme.index", "own/acme/index.js": "open('src/acme_mcp/server.py')"},
        {"own/pyproject.toml": "[project]\nname = 'own'", "own/server.py": "", "own/src/app.py": "print('acme')"},
        {"own/pyproject.toml": "", "own/server.py": "", "own/src/cli.py": "x = 'project'; y = 'acme/index.js'"},
    ],
)
def test_a_server_whose_package_names_nothing_of_the_project_needs_no_approval(
    machine: Machine, files: Mapping[str, str]
) -> None:
    machine.write(machine.project / "tools/say.py", "")
    machine.write(machine.project / "src/app.py", "")
    machine.install(files)

    assert not machine.code("python3 HOME/own/server.py")


@pytest.mark.parametrize(
    "text",
    [
        "if method == 'project/list': send(id, {'project': ['text']})",
        "if (method === 'project') reply({ type: 'project', project: [] })",
        "app.get('/project', (request, answer) => answer.json({}))",
        "open(path, 'project')",
    ],
)
@pytest.mark.parametrize("name", ["server.py", "server.mjs"])
def test_a_word_that_is_the_name_of_a_project_names_no_project(machine: Machine, text: str, name: str) -> None:
    machine.write(machine.project / "fmt.py", "")
    machine.write(machine.project / "fmt.mjs", "")
    machine.install({f"own/{name}": text})

    assert not machine.code(f"{'python3' if name.endswith('py') else 'node'} HOME/own/{name}")


@pytest.mark.parametrize(
    "text",
    [
        "ROOT = Path.home().parent / 'project'; runpy.run_path(str(ROOT / 'fmt.py'))",
        "root = os.path.join(base, 'project'); run(root + '/fmt.py')",
        "run(f'{base}/project')",
        "run('../project')",
    ],
)
def test_a_name_that_is_joined_to_a_path_does(machine: Machine, text: str) -> None:
    machine.write(machine.project / "fmt.py", "")
    machine.install({"own/server.py": text})

    assert machine.code("python3 HOME/own/server.py")


@pytest.mark.parametrize(
    "text",
    [
        "runpy.run_path('HOME/../project/new.py')",
        "sh ~/../project/new/run",
        "f = Path.home().parent / 'project' / 'new.py'",
        "join(base, 'project', 'acme', 'new.py')",
        "import(process.env.HOME + '/../project/acme/new.mjs')",
    ],
)
def test_code_that_is_not_there_yet_is_known_to_be_named(machine: Machine, text: str) -> None:
    machine.install({"own/server.py": text})

    assert "/new" in machine.file("python3 HOME/own/server.py")
    for name in ("new.py", "new/run", "acme/new.py", "acme/new.mjs"):
        machine.write(machine.project / name, "")
    assert "/new" in machine.file("python3 HOME/own/server.py")


@pytest.mark.parametrize(
    "text",
    [
        "open('HOME/../project/notes.md', 'a')",
        "log = ~/../project/server.log",
        "x = 'project', 'name', 'server.py'",
        "fetch('https://example.com/project/new.js')",
        "# see ~/../project/new.py",
        "import project; project.new('x')",
    ],
)
def test_what_is_no_code_of_a_project_is_not_taken_for_some(machine: Machine, text: str) -> None:
    machine.install({"own/server.py": text})

    assert not machine.file("python3 HOME/own/server.py")


@pytest.mark.parametrize(
    ("command", "new"),
    [
        ("HOME/start ./acme/config.json", "fnmatch.py"),
        ("HOME/dotenv -- /usr/bin/python3 acme/index.js", ".env"),
        ("nodemon acme/index.js", "nodemon.json"),
        ("vite-node acme/index.js", "vite.config.ts"),
        ("honcho run node acme/index.js", ".env"),
        ("nix develop -c node acme/index.js", "flake.nix"),
        ("devbox run -- node acme/index.js", "devbox.json"),
    ],
)
def test_a_new_file_that_decides_at_the_top_of_the_project_is_asked_about(
    machine: Machine, command: str, new: str
) -> None:
    machine.write(machine.project / "acme/config.json", "{}")
    machine.install({"start": '#!/bin/sh\nexec /usr/bin/python3 -m ours --config "$1"\n', "dotenv": "#!/bin/sh\n"})
    before = machine.code(command)

    (machine.project / new).write_text("")

    assert before
    assert f"new: {machine.project / new}" in differences(before, machine.code(command))


def test_other_new_files_at_the_top_of_the_project_are_not(machine: Machine) -> None:
    before = machine.code("python3 acme/src/acme_mcp/server.py")

    for name in ("fnmatch.py", ".env", "notes.md"):
        (machine.project / name).write_text("")

    assert before
    assert not differences(before, machine.code("python3 acme/src/acme_mcp/server.py"))


def test_a_link_in_a_circle_beside_a_script_is_passed_over(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    script = f"import os\nos.listdir('{tmp_path}/elsewhere')\nexec(open('{machine.project}/{SCRIPT}').read())\n"
    machine.write(tmp_path / "elsewhere/tool.py", "")
    for folder in (machine.home, tmp_path / "elsewhere"):
        (folder / "circle.py").symlink_to("circle.py")
    machine.install({"package.json": "{}", "server.py": script})

    assert f"{machine.project}/{SCRIPT}" in machine.code(f"python3 {machine.home}/server.py")


@pytest.mark.parametrize("is_of_system", [True, False])
def test_folders_of_the_system_are_no_code_of_a_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_of_system: bool
) -> None:
    machine = Machine(tmp_path)
    folder = tmp_path / "etc"
    machine.write(folder / "tool.py", f"exec(open('{machine.project}/{SCRIPT}').read())\n")
    machine.install({"tools/server.py": f"import os\nos.listdir('{folder}')\n"})
    # Not what the system has itself: tests may lie in memory, below /dev/shm.
    monkeypatch.setattr(outside_folders, "_OF_SYSTEM", (str(folder),) if is_of_system else ())

    assert bool(machine.code(f"python3 {machine.home}/tools/server.py")) is not is_of_system


_OF_MANY = (
    "'/etc/hosts', '/etc/passwd', '/tmp', '/var/tmp', '/', '/proc', '/proc/self', '/usr/share', '/var/lib', '/sys'"
)


class Listings:
    """Notes which folders this process lists while `noting`. A hook cannot be taken away again."""

    def __init__(self) -> None:
        self._noted: list[str] | None = None
        sys.addaudithook(self._note)

    @contextmanager
    def noting(self) -> Iterator[list[str]]:
        self._noted = noted = list[str]()
        try:
            yield noted
        finally:
            self._noted = None

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        if self._noted is not None and event in ("os.scandir", "os.listdir"):
            self._noted.append(str(arguments[0]))


@pytest.fixture(scope="module")
def listings() -> Listings:
    return Listings()


@pytest.mark.parametrize(
    "command", ["python3 HOME/own/server.py", "python3 acme/src/acme_mcp/server.py HOME/own/server.py"]
)
def test_folders_of_the_system_that_a_text_names_are_not_searched_and_others_once(
    machine: Machine, listings: Listings, command: str
) -> None:
    machine.install(
        {
            "own/server.py": f"import lib\nP = {_OF_MANY}\nroot + '/' + name, root + '/tmp', 'HOME/own/lib'",
            "own/package.json": "{}",
            "own/lib/one.py": f"PLACES = {_OF_MANY}, 'HOME/own/lib'",
            "own/lib/two.py": "from lib import one",
            "own/start": "#!/bin/sh\ncat /etc/passwd",
        }
    )

    with listings.noting() as listed:
        machine.code(command)

    own = [str(machine.home / one) for one in ("own", "own/lib", ".config")]
    assert [listed.count(one) for one in own] == [1, 1, 1]
    ours = tuple(map(str, (machine.home, machine.project, *machine.home.parents[:1])))
    of_python = re.compile(r"/usr(/local)?(/lib.*)?|/lib.*")
    assert not [one for one in listed if not one.startswith(ours) and not of_python.fullmatch(one)]


def test_code_beside_a_text_that_names_folders_of_the_system_is_still_read(machine: Machine) -> None:
    loads = "exec(open('PROJECT/acme/index.js').read())"
    machine.install({"own/server.py": f"PLACES = {_OF_MANY}", "own/pyproject.toml": "", "own/lib/settings.py": loads})

    assert machine.notices("python3 HOME/own/server.py", SCRIPT)


def test_manifests_that_cannot_be_read_are_passed_by(machine: Machine) -> None:
    loads = "exec(open('PROJECT/acme/index.js').read())"
    machine.install({"own/server.py": loads, "own/pyproject.toml": '[x]\na = {path = "../dep"}'})
    (machine.project / "acme/pyproject.toml").symlink_to("pyproject.toml")
    (machine.home / "dep/go.mod").mkdir(parents=True)
    (machine.home / "dep/package.json").symlink_to("package.json")

    assert machine.notices("python3 HOME/own/server.py", SCRIPT)
