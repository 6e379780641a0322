"""What a server executes and commands can write is known, whichever way its command line names it."""

import json
import mmap
import os
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO
from zipfile import ZipFile

import pytest

from kaa.shell.home import Home
from kaa.shell.mcp.code import TooMuchCodeError, UnknownCodeError, code_of, differences
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry, Source
from kaa.shell.mcp.place import ServerPlace
from kaa.shell.mcp.runners import imports_from_directory, outside, package_of_runner
from kaa.workspace.places import Places
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.elsewhere import folder_elsewhere
from tests.support.tables import each

_TICK_SECONDS = 0.05  # the clock of times of files ticks meanwhile


class Land:
    """A project with a server, and a folder outside."""

    def __init__(self, base: Path) -> None:
        self.project, self.elsewhere = base / "project", base / "elsewhere"
        for folder in (self.project / "tools", self.project / "docs", self.elsewhere):
            folder.mkdir(parents=True)
        self.write("tools/server.py", "import helper")
        self.write("tools/helper.py", "")
        self.write("docs/notes.md", "")

    def write(self, path: str, text: str) -> None:
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def code(self, command: str, **fields: object) -> dict[str, str]:
        """Of a command line whose words are separated by ` ; `, or else by blanks."""
        return self.code_of(command.split(" ; ") if " ; " in command else command.split(), **fields)

    def code_of(self, words: Sequence[str], **fields: object) -> dict[str, str]:
        """Of the words of a command line."""
        name, *arguments = words
        entry = ServerEntry(command=name, args=tuple(arguments), **fields)  # type: ignore[arg-type] # fields of the entry
        place = ServerPlace(Home(self.elsewhere), {"HOME": str(self.elsewhere)}, str(self.project), SandboxOptions)
        return code_of(ConfiguredServer("one", entry, Source("/file", "project"), "digest"), place)


@pytest.fixture
def land(tmp_path: Path) -> Land:
    return Land(tmp_path.resolve())


@pytest.mark.parametrize(
    "command",
    [
        "python3 tools/server.py",
        "python3 ./tools/../tools/server.py --port 8080",
        "${workspaceFolder}/tools/server.py",
        "python3 -u -m tools.server",
        "python3 ; -c ; import runpy; runpy.run_path('tools/server.py')",
        "bash ; -c ; cd /; exec python3 ${workspaceFolder}/tools/server.py",
        "env X=1 python3 tools/server.py",
        "uv run tools/server.py",
        "uv run --script=tools/server.py",
        "npx -y nodemon tools/server.py",
        "/usr/local/bin/wrap tools/server.py",
    ],
)
@pytest.mark.parametrize("changed", ["tools/server.py", "tools/helper.py", "tools/json.py", "tools/deep/new.py"])
def test_a_change_of_a_script_and_of_what_it_can_load_is_known(land: Land, command: str, changed: str) -> None:
    before = land.code(command)

    land.write(changed, "import os")

    assert land.code(command) != before
    assert any(changed in line for line in differences(before, land.code(command)))


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("node server/index.js", "server/lib/x.js"),
        ("node server/index.js", "node_modules/sdk/index.js"),
        ("node server", "server/package.json"),
        ("npm start", "package.json"),
        ("npm --prefix server start", "server/index.js"),
        ("uv --directory server run serve", "server/src/main.py"),
        ("uvx --from ./server serve", "server/src/main.py"),
        ("npx -y ./server", "server/index.js"),
        ("make serve", "Makefile"),
        ("node top.js", "lib/x.js"),
        ("python3 top.py", "anyio.py"),
        ("python3 top.py", "package/part.py"),
        ("python3 -m tools.server", "json.py"),
        ("python3 -um tools.server", "json.py"),
        ("python3 ; -c ; import tools.server as one; one.main()", "tools/helper.py"),
        ("python3 -m tools.server", "plain/part.py"),
        ("python3 top.py", "plain/part.py"),
        ("bundle exec serve", "Gemfile"),
    ],
)
def test_a_change_of_folders_with_code_is_known(land: Land, command: str, changed: str) -> None:
    land.write("top.js", "require('./lib/x.js')")
    land.write("top.py", "import beside")
    land.write("beside.py", "from plain import part")
    land.write("tools/helper.py", "import plain.part")
    land.write("plain/part.py", "")
    land.write("package/__init__.py", "")
    for name in ("", "server/"):
        for file in ("Gemfile", "package.json", "pyproject.toml", "index.js", "lib/x.js", "Makefile", "src/main.py"):
            land.write(f"{name}{file}", "")
    land.write("node_modules/sdk/index.js", "")
    before = land.code(command)

    land.write(changed, "changed")

    assert before
    assert land.code(command) != before


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("import sys\nsys.path.insert(0, str(Path(__file__).parent.parent))\nimport basket\n", "basket.py"),
        ("sys.path.append('..'); import os, basket\n", "basket.py"),
        ("try:\n    from basket import Basket\nexcept ImportError:\n    pass", "basket.py"),
        ("importlib.import_module('basket')", "basket.py"),
        ("subprocess.run([sys.executable, '-m', 'basket'])", "basket.py"),
        ("cd .. && python3 -m basket", "basket.py"),
        ("const basket = require('../basket')", "basket.js"),
        ("import { add } from '../basket'", "basket.ts"),
        ("await import(`../../basket`)", "basket.mjs"),
        ("require_relative '../basket'", "basket.rb"),
    ],
)
def test_a_module_that_code_imports_from_a_folder_above_it_is_code(land: Land, text: str, module: str) -> None:
    land.write("tools/server.py", text)
    land.write(module, "")
    before = land.code("python3 tools/server.py")

    land.write(module, "changed")

    assert any(line.endswith(f"/{module}") for line in differences(before, land.code("python3 tools/server.py")))


@pytest.mark.parametrize(
    "text",
    [
        "basket = 1",
        "# the basket",
        "print('basket')",
        "tools = [{'name': 'basket'}]",
        "import basket_case",
        "get('/basket')",
    ],
)
def test_a_word_that_is_the_name_of_a_module_is_none(land: Land, text: str) -> None:
    land.write("tools/server.py", text)
    land.write("basket.py", "")

    assert not any(path.endswith("basket.py") for path in land.code("python3 tools/server.py"))


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("python3 -mserver", "server.py"),
        ("uv run -m server", "server.py"),
        ("uvicorn server:app", "server.py"),
        ("node build/index", "build/index.js"),
        ("node -r ./hook /opt/server.js", "hook.js"),
        ("npx tsx source/server", "source/server.ts"),
        ("node tools/mcp/index.js", "source/lib.js"),
        ("node top.js", "lib/x.js"),
        ("node packages/mcp/index.js", "packages/core/index.js"),
        ("docker compose -f compose.yaml run mcp", "compose.override.yaml"),
        ("docker compose run mcp", ".env"),
        ("docker compose run mcp", "ops/more.yaml"),
        ("make mcp", "ops.mk"),
        ("task mcp", "Taskfile.yaml"),
        ("java -cp classes Main", "classes/Main.class"),
        ("ruby -Ilib -rx -e run", "lib/x.rb"),
        ("bash notes.md", "notes.md"),
        ("sh ; -c ; cd server && exec node index.js", "server/index.js"),
        ("sh ; -c ; exec node $PWD/hook.js", "hook.js"),
        (".venv/bin/serve", ".venv/lib/python3/site-packages/new.pth"),
        (".venv/bin/serve", "source/editable.py"),
    ],
)
def test_further_ways_to_name_code_are_known(land: Land, command: str, changed: str) -> None:
    for name in ("server.py", "build/index.js", "hook.js", "source/server.ts", "source/lib.js", "lib/x.js", "lib/x.rb"):
        land.write(name, "")
    for name in (
        "packages/mcp/index.js",
        "packages/core/index.js",
        "server/index.js",
        "classes/Main.class",
        "notes.md",
    ):
        land.write(name, "")
    for name in ("compose.yaml", "Makefile", "Taskfile.yaml", "ops/more.yaml", "packages/mcp/package.json"):
        land.write(name, "")
    land.write("tools/mcp/index.js", "require('../../source/lib.js')")
    land.write("top.js", "require('./second')")
    land.write("second.js", "require('./lib/x')")
    land.write(".venv/pyvenv.cfg", "")
    land.write(".venv/bin/serve", "#!/usr/bin/python3")
    land.write(".venv/lib/python3/site-packages/it.pth", f"{land.project}/source")
    (land.project / "node_modules/@a").mkdir(parents=True)
    (land.project / "node_modules/@a/core").symlink_to("../../packages/core")
    before = land.code(command)

    land.write(changed, "changed")

    assert land.code(command) != before


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("uv run --directory tools/mcp server.py", "pyproject.toml"),
        ("uv run --directory tools/mcp server.py", "tools/uv.lock"),
        ("uv run --project tools/mcp tools/mcp/server.py", "tools/pyproject.toml"),
        ("uv run --with-requirements tools/mcp/requirements.txt /opt/server.py", "tools/mcp/requirements.txt"),
        ("uv run tools/mcp/server.py", "tools/mcp/requirements-dev.txt"),
        ("npx tsx tools/mcp/index.ts", "tsconfig.json"),
        ("node tools/mcp/index.ts", "tsconfig.base.json"),
        ("pnpm --dir tools/mcp start", ".pnpmfile.cjs"),
        ("yarn --cwd tools/mcp start", ".yarnrc.yml"),
        ("go run -C tools/mcp .", "go.work"),
        ("cargo run --manifest-path tools/mcp/Cargo.toml", ".cargo/config.toml"),
        ("cargo run --manifest-path tools/mcp/Cargo.toml", "rust-toolchain.toml"),
        ("mise x -- python3 tools/mcp/server.py", "mise.toml"),
        ("tools/mcp/start.sh", "pyproject.toml"),
    ],
)
def test_what_decides_above_a_package_is_known(land: Land, command: str, changed: str) -> None:
    for name in ("server.py", "pyproject.toml", "requirements.txt", "index.ts", "go.mod", "Cargo.toml", "start.sh"):
        land.write(f"tools/mcp/{name}", "")
    before = land.code(command)

    land.write(changed, "changed")

    assert before
    assert str(land.project / changed) in dict(land.code(command).items() - before.items())


@pytest.mark.parametrize(
    "command",
    [
        "make -C OTHER/tools/mcp serve",
        "make -COTHER/tools/mcp serve",
        "make -f OTHER/tools/mcp/run.mk",
        "make -fOTHER/tools/mcp/run.mk",
        "npm --prefix OTHER/tools/mcp start",
        "pnpm -C OTHER/tools/mcp start",
        "pnpm start --dir=OTHER/tools/mcp",
        "yarn --cwd OTHER/tools/mcp start",
        "cargo run --manifest-path OTHER/tools/mcp/Cargo.toml",
        "uv run --directory OTHER/tools/mcp run.py",
        "uv run --project=OTHER/tools/mcp serve",
        "pdm run -p OTHER/tools/mcp serve",
        "mise run --cd OTHER/tools/mcp serve",
        "docker compose --project-directory OTHER/tools/mcp run x",
        "env -C OTHER/tools/mcp python3 run.py",
        "uv run --with-editable OTHER/tools/mcp serve",
        "uvx --with OTHER/tools/mcp serve",
        "sh ; -c ; make -C OTHER/tools/mcp serve",
    ],
)
def test_a_folder_of_another_project_that_an_option_names_is_known(land: Land, command: str) -> None:
    other = land.elsewhere / "other"
    folder = other / "tools/mcp"
    folder.mkdir(parents=True)
    for name in ("run.py", "run.mk", "Makefile", "package.json", "Cargo.toml", "pyproject.toml", "mise.toml"):
        (folder / name).write_text("")
    assert Places.of({}, str(land.elsewhere), str(other)).caches
    line = command.replace("OTHER", str(other))
    before = land.code(line)

    (folder / "run.py").write_text("changed")

    assert differences(before, land.code(line)) == [f"changed: {folder}/run.py"]


@pytest.mark.parametrize(
    "command", ["tsx tools/ts/a.ts", "ts-node -P tools/ts/tsconfig.json /opt/x.ts", "npx tsx tools/ts/a.ts"]
)
@pytest.mark.parametrize("changed", ["source/shared/b.ts", "source/near/c.ts"])
def test_folders_that_paths_of_typescript_mean_are_known(land: Land, command: str, changed: str) -> None:
    land.write("tools/ts/a.ts", 'import b from "@shared/b"')
    land.write("tools/ts/package.json", "{}")
    paths = {"@shared/*": ["../../source/shared/*"], "near": ["../../source/near/c.ts"]}
    land.write("tools/ts/tsconfig.json", json.dumps({"compilerOptions": {"paths": paths}}))
    land.write("source/shared/b.ts", "")
    land.write("source/near/c.ts", "")
    before = land.code(command)

    land.write(changed, "changed")

    assert differences(before, land.code(command)) == [f"changed: {land.project / changed}"]


def test_settings_of_other_programs_ask_nothing(land: Land) -> None:
    land.write("tools/mcp/pyproject.toml", "")
    land.write("tools/mcp/server.py", "")
    before = land.code("python3 tools/mcp/server.py")

    for name in ("tsconfig.json", "Cargo.toml", "Makefile", "pyproject.toml", "main.py"):
        land.write(name, "changed")

    assert land.code("python3 tools/mcp/server.py") == before


@pytest.mark.parametrize(
    ("server", "text", "beside"),
    [
        ("packages/mcp/index.js", 'import "../core/index.js"', "packages/core/index.js"),
        ("tools/mcp/server.py", "import shared.util", "tools/shared/util.py"),
    ],
)
def test_code_in_a_folder_beside_the_package_is_known(land: Land, server: str, text: str, beside: str) -> None:
    land.write(server, text)
    land.write(f"{Path(server).parent}/package.json", "")
    land.write(beside, "")
    before = land.code(f"run-it {server}")

    land.write(beside, "changed")

    assert differences(before, land.code(f"run-it {server}")) == [f"changed: {land.project / beside}"]


@pytest.mark.parametrize("changed", ["server.py", "helpers.py"])
def test_a_program_above_that_a_starter_names_is_known_with_what_it_loads(land: Land, changed: str) -> None:
    land.write("scripts/mcp.sh", 'cd "$(dirname "$0")/.."; exec python3 server.py')
    land.write("server.py", "import helpers")
    land.write("helpers.py", "")
    land.write("package.json", "")
    before = land.code("scripts/mcp.sh")

    land.write(changed, "changed")

    assert differences(before, land.code("scripts/mcp.sh")) == [f"changed: {land.project / changed}"]


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ('exec "$(dirname "$0")/../libexec/impl" "$@"', "libexec/impl"),
        ("cd ..; exec python3 server", "server"),
        ('. "$(dirname "$0")/../env.inc"', "env.inc"),
        ("cd ..; . ./settings.conf", "settings.conf"),
        ("cd ..; source settings.conf; run", "settings.conf"),
        ("set -a; . ../.env", ".env"),
        ("#include ../common.h", "common.h"),
        ("exec ../libexec/plain", "libexec/impl"),
    ],
)
def test_what_a_script_without_an_ending_names_is_known(land: Land, text: str, changed: str) -> None:
    land.write("bin/tool", f"#!/bin/sh\n{text}\n")
    land.write("package.json", "")
    for name in ("libexec/impl", "server", "env.inc", "settings.conf", ".env", "common.h"):
        land.write(name, "#!/bin/sh\n")
    before = land.code("bin/tool")

    land.write(changed, "#!/bin/sh changed\n")

    assert differences(before, land.code("bin/tool")) == [f"changed: {land.project / changed}"]


def test_settings_and_files_that_a_script_only_mentions_are_no_code_of_it(land: Land) -> None:
    land.write(
        "bin/tool", "#!/bin/sh\n# The NOTICE says more; see data/config.yaml and ../config.yaml. Include common.h.\n"
    )
    for name in ("NOTICE", "config.yaml", "common.h", "data/config.yaml"):
        land.write(name, "")

    assert list(land.code("bin/tool")) == [str(land.project / "bin"), str(land.project / "bin/tool")]


def test_what_a_plugin_keeps_is_code_that_others_write_for_servers_of_others(tmp_path: Path) -> None:
    home = Home(tmp_path / "kaa")
    root, data, other = tmp_path / "kaa/plugins/acme", home.plugin_data / "acme", home.plugin_data / "other"
    for folder in (root, data, other, tmp_path / "project"):
        folder.mkdir(parents=True)
    (root / "server.py").write_text("import os\n")
    (data / "state.py").write_text("")
    (other / "state.py").write_text("")
    place = ServerPlace(home, {"HOME": str(tmp_path)}, str(tmp_path / "project"), SandboxOptions)

    def code(kept: Path, source: Source) -> dict[str, str]:
        entry = ServerEntry(command="python3", args=(str(root / "server.py"), "--plugin-dir", str(kept)))
        return code_of(ConfiguredServer("one", entry, source, "digest"), place)

    own = Source("/file", "plugin", root=str(root), data=str(data))

    assert code(data, own) == {}
    assert str(other) in code(other, own)
    assert str(data) in code(data, Source("/file", "user"))


def test_a_pipe_among_the_code_is_not_waited_for(land: Land) -> None:
    land.write(".venv/pyvenv.cfg", "")
    land.write(".venv/bin/serve", "")
    land.write(".venv/lib/python3/site-packages/one.py", "")
    os.mkfifo(land.project / ".venv/lib/python3/site-packages/it.pth")

    assert str(land.project / ".venv") in land.code(".venv/bin/serve")


def test_what_is_written_through_a_mapping_changes_a_package() -> None:
    """Once a page was written, the kernel sets no new time until it has saved the page."""
    with folder_elsewhere() as folder:
        land = Land(folder.resolve())
        land.write("node_modules/one/index.js", "good")
        environment = {"NODE_PATH": str(land.project / "node_modules")}
        with (land.project / "node_modules/one/index.js").open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            if not _sets_times(file, mapped):
                pytest.skip("this file system sets no time when a mapping is written")
            before = land.code("node tools/server.js", env=environment)
            time.sleep(_TICK_SECONDS)
            mapped[0:4] = b"evil"

            assert land.code("node tools/server.js", env=environment) != before


def _sets_times(file: BinaryIO, mapped: mmap.mmap) -> bool:
    """Write through a mapping, each time after the file was saved. In memory, only the first write sets the time."""
    times = []
    for _ in range(3):
        mapped[0:4] = b"good"
        times.append(os.fstat(file.fileno()).st_ctime_ns)
        os.fsync(file.fileno())
        time.sleep(_TICK_SECONDS)
    mapped[0:4] = b"good"  # the page is unsaved again
    return len(set(times)) == len(times)


@pytest.mark.parametrize("target", ["", os.fsdecode(b"b\xff.py")])
def test_a_name_that_is_not_utf_8_is_refused_with_what_to_do(land: Land, target: str) -> None:
    """It could be shown to nobody, and approvals are kept as JSON."""
    path = land.project / ("tools/link.py" if target else os.fsdecode(b"tools/b\xff.py"))
    path.symlink_to(target) if target else path.write_text("")

    with pytest.raises(UnknownCodeError, match="Rename or remove it"):
        land.code("python3 tools/server.py")


@pytest.mark.parametrize("limit", ["_MAX_FILES", "_MAX_ENTRIES"])
def test_too_much_code_is_refused_with_what_to_do(land: Land, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(f"kaa.shell.mcp.code.{limit}", 2)
    for number in range(3):
        (land.project / f"tools/{number}.csv").write_text("")

    with pytest.raises(TooMuchCodeError, match="directory with its own manifest"):
        land.code("python3 tools/server.py")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda python, _: python.unlink() or python.symlink_to("/bin/sh"),
        lambda python, _: python.unlink() or python.write_text("#!/bin/sh"),
        lambda _, packages: (packages / "sitecustomize.py").write_text(""),
    ],
)
def test_a_change_of_a_virtual_environment_is_known(land: Land, spoil: Callable[[Path, Path], object]) -> None:
    python, packages = land.project / ".venv/bin/python", land.project / ".venv/lib/site-packages"
    land.write(".venv/pyvenv.cfg", "")
    python.parent.mkdir()
    packages.mkdir(parents=True)
    python.symlink_to("/usr/bin/env")
    command = f"{python} -m installed_server"
    before = land.code(command)

    spoil(python, packages)

    assert land.code(command) != before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RUBYOPT", "-w -r${workspaceFolder}/tools/hook"),
        ("NODE_OPTIONS", "--import file://${workspaceFolder}/tools/hook.rb"),
        ("BASH_ENV", "${workspaceFolder}/tools/hook.rb"),
    ],
)
def test_code_that_a_variable_has_interpreters_load_counts(land: Land, name: str, value: str) -> None:
    land.write("tools/hook.rb", "")
    before = land.code("run-it", env={name: value})

    land.write("tools/hook.rb", "changed")

    assert differences(before, land.code("run-it", env={name: value})) == [f"changed: {land.project}/tools/hook.rb"]


def test_a_variable_that_names_code_counts(land: Land) -> None:
    before = land.code("/usr/bin/serve", env={"NODE_OPTIONS": "--require ./tools/server.py"})

    land.write("tools/server.py", "changed")

    assert land.code("/usr/bin/serve", env={"NODE_OPTIONS": "--require ./tools/server.py"}) != before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "tools:/usr/bin"),
        ("PYTHONPATH", "${workspaceFolder}/tools"),
        ("NODE_PATH", "./tools"),
        ("GEM_HOME", "${workspaceFolder}/tools"),
        ("XDG_CONFIG_HOME", "${workspaceFolder}/tools"),
        ("JDK_JAVA_OPTIONS", "-javaagent:tools"),
        ("PERL5OPT", "-MX -I${workspaceFolder}/tools"),
        ("RUBYOPT", "-I${workspaceFolder}/tools -rjson"),
    ],
)
def test_a_folder_counts_that_a_variable_names_for_code(land: Land, name: str, value: str) -> None:
    before = land.code("/usr/bin/serve", env={name: value})

    land.write("tools/json.py", "changed")

    assert land.code("/usr/bin/serve", env={name: value}) != before
    assert land.code("/usr/bin/serve", env={"ROOT": value}) == {}


@pytest.mark.parametrize(
    "command",
    [
        "npx -y @modelcontextprotocol/server-filesystem .",
        "npx -y @modelcontextprotocol/server-filesystem ${workspaceFolder} docs",
        "node /opt/server/index.js .",
        "uv --directory /opt/server run server.py",
        "uvx mcp-server-sqlite --db-path ./data.db",
        "/usr/bin/serve-files --root docs docs/notes.md",
        "docker run -v ${workspaceFolder}:/data image",
        "python3 -m installed_server",
    ],
)
def test_a_server_from_elsewhere_executes_nothing_of_the_project(land: Land, command: str) -> None:
    land.write("package.json", "{}")
    land.write("data.db", "")

    assert land.code(command) == {}


@pytest.mark.parametrize(
    "command",
    [
        "/usr/bin/env node ./mcp",
        "env X=1 python3 mcp",
        "timeout 600 python3 ./mcp",
        "nice -n 5 node mcp",
        "python3 -X utf8 mcp",
        "python3 -W ignore ./mcp",
        "node --import tsx ./mcp",
        "node -r dotenv/config ./mcp",
        "node --env-file .env ./mcp",
        "node --inspect ./mcp",
        "uv run python mcp",
        "poetry run python mcp",
        "bun run ./mcp",
        "npx -y tsx ./mcp",
        "npx -y tsx@4 ./mcp",
        "npx -y dotenv-cli -- node ./mcp",
        "npx -y supergateway --stdio 'node ./mcp'",
        "doppler run -- node ./mcp",
        "op run --env-file=.env -- node ./mcp",
        "direnv exec . node ./mcp",
        "volta run node ./mcp",
        "HOME/bin/with-token python3 ./mcp",
        "HOME/bin/run-server ./mcp",
        "HOME/bin/run-server --plugin=./mcp",
        "uvx acme-runner --server mcp",
        "julia --project=mcp -e 'using Acme'",
    ],
)
def test_a_folder_counts_that_any_word_gives_to_a_program(land: Land, command: str) -> None:
    for name in ("package.json", "__main__.py", "Project.toml", "lib/deep/server.js"):
        land.write(f"mcp/{name}", "")
    land.write(".env", "")
    words = shlex.split(command.replace("HOME", str(land.elsewhere)))
    before = land.code_of(words)

    land.write("mcp/lib/deep/server.js", "changed")

    assert f"changed: {land.project}/mcp/lib/deep/server.js" in differences(before, land.code_of(words))


@pytest.mark.parametrize(
    "command",
    [
        "raku -Imcp HOME/x.raku",
        "raku -I mcp HOME/x.raku",
        "runghc -imcp HOME/Main.hs",
        "guile -L ./mcp HOME/x.scm",
        "ocaml -I mcp HOME/x.ml",
        "nim r --path:mcp HOME/x.nim",
        "emacs --batch -L mcp -l server",
        "bb -cp mcp -m acme.main",
        "bb --classpath=mcp --main acme.main",
        "clojure -Sdeps '{:deps {acme/acme {:local/root \"mcp\"}}}' -M -m acme",
        "swift run --package-path ./mcp server",
        "scala-cli run mcp",
        "dart run -C ./mcp server",
        "sbt -Dsbt.base=mcp run",
        "nix run path:./mcp#server",
        "devbox run -c mcp serve",
        "flox activate -d mcp -- acme",
        "nsenter --wd=mcp python3 server.py",
        "sudo -D ./mcp python3 server.py",
        "firejail --private-cwd=PROJECT/mcp python3 server.py",
        "php -S 127.0.0.1:8000 -t mcp",
        "HOME/bin/run-server --plugin-dir mcp",
        "HOME/bin/run-server --acme-path=mcp",
        "HOME/bin/run-server --chdir ./mcp",
        "HOME/bin/run-server --lib ./mcp",
    ],
)
def test_a_folder_with_code_counts_behind_an_option_that_may_load_it(land: Land, command: str) -> None:
    for name in ("server.py", "deps.edn", "Package.swift", "pubspec.yaml", "flake.nix", ".flox/env/manifest.toml"):
        land.write(f"mcp/{name}", "")
    words = shlex.split(command.replace("HOME", str(land.elsewhere)).replace("PROJECT", str(land.project)))
    before = land.code_of(words)

    land.write("mcp/server.py", "changed")

    assert f"changed: {land.project}/mcp/server.py" in differences(before, land.code_of(words))


@pytest.mark.parametrize(
    "command",
    [
        "HOME/bin/run-server --path docs",
        "HOME/bin/run-server --path .",
        "HOME/bin/run-server --vault-path mcp --data-dir=mcp --repo_path mcp",
        "HOME/bin/run-server --project-path ./mcp",
        "npx -y @modelcontextprotocol/server-filesystem --path ./mcp",
        "npx -y @acme/server --port 80",
        "uvx acme-server --output-dir mcp",
    ],
)
def test_other_options_of_servers_name_data(land: Land, command: str) -> None:
    for name in ("mcp/server.py", "server.py", "acme/server/package.json"):
        land.write(name, "")

    assert land.code(command.replace("HOME", str(land.elsewhere))) == {}


def test_a_file_with_options_of_java_counts_whatever_its_name_is(land: Land) -> None:
    land.write("options.txt", "-cp lib Main")

    assert str(land.project / "options.txt") in land.code("java @options.txt")


@pytest.mark.parametrize(
    "command",
    [
        "npx -y @modelcontextprotocol/server-filesystem ./mcp mcp",
        "uvx mcp-server-git --repository ./mcp",
        "HOME/bin/filesystem-server ./mcp",
        "node HOME/filesystem/index.js --workspace ./mcp",
        "uvx acme-server --workspace ./mcp --docs-dir=mcp",
        "docker run -i -v ./mcp:/work image ./mcp",
        "HOME/bin/run-server .",
        "npx -y nx-mcp .",
        "npx -y @eslint/mcp@latest ./mcp",
        "uvx --from git+https://example.org/serena serena start-mcp-server --project .",
    ],
)
def test_a_folder_is_data_of_servers_that_work_on_folders(land: Land, command: str) -> None:
    for name in ("package.json", "mcp/package.json", "mcp/__main__.py"):
        land.write(name, "")

    assert land.code(command.replace("HOME", str(land.elsewhere))) == {}


@pytest.mark.parametrize(
    "text",
    [
        'cd "FOLDER" && exec python3 server.py',
        "cd 'FOLDER' && exec python3 server.py",
        'cd -P "FOLDER"; exec python3 server.py',
        'cd -- "$PWD/FOLDER"; exec python3 server.py',
        'pushd "FOLDER" >/dev/null; exec python3 server.py',
        "pushd >/dev/null 'FOLDER'; exec python3 server.py",
        'D="FOLDER"; cd "$D"; exec python3 server.py',
        'for d in "FOLDER" other; do cd "$d" && exec python3 server.py; done',
        'cd "${MCP_TOOLS:-FOLDER}" && exec python3 server.py',
        "(cd 'FOLDER';exec\tpython3 server.py)",
        "cd $'FOLDER'\texec python3 server.py",
        'PYTHONPATH="FOLDER" exec python3 -c "import server"',
        'exec env -C "FOLDER" python3 server.py',
        'exec node "$PWD/FOLDER/server.py"',
        "import os; os.chdir('FOLDER'); exec(open('server.py').read())",
        "import os, sys; sys.path.insert(0, 'FOLDER'); import server",
    ],
)
@pytest.mark.parametrize(
    ("program", "folder"), [("sh -c", "plain"), ("bash -lc", "C#, (new) [1]"), ("python3 -c", "my tools")]
)
def test_a_folder_counts_that_a_text_enters_however_it_is_quoted(
    land: Land, program: str, text: str, folder: str
) -> None:
    land.write(f"{folder}/server.py", "")
    (land.project / "other").mkdir()
    words = [*program.split(), text.replace("FOLDER", folder)]
    before = land.code_of(words)

    land.write(f"{folder}/server.py", "changed")

    assert f"changed: {land.project}/{folder}/server.py" in differences(before, land.code_of(words))


def test_a_question_names_every_change_and_what_is_new_first(land: Land) -> None:
    for number in range(30):
        land.write(f"tools/a{number:02}.py", "")
    (land.project / "tools/z.py").symlink_to("helper.py")
    before = land.code("python3 tools/server.py")
    for number in range(30):
        land.write(f"tools/a{number:02}.py", "changed")
    land.write("tools/json.py", "")
    (land.project / "tools/z.py").unlink()
    (land.project / "tools/z.py").symlink_to("../../elsewhere/z.py")
    (land.project / "tools/helper.py").unlink()

    lines = differences(before, land.code("python3 tools/server.py"))

    assert lines[:2] == [
        f"new: {land.project}/tools/json.py",
        f"changed: {land.project}/tools/z.py (link to ../../elsewhere/z.py)",
    ]
    assert lines[2:] == [
        *(f"changed: {land.project}/tools/a{number:02}.py" for number in range(30)),
        f"gone: {land.project}/tools/helper.py",
    ]


def test_a_first_question_names_all_code_of_a_large_server_by_its_folders(land: Land) -> None:
    for number in range(100):
        land.write(f"tools/lib/a{number}.py", "")
    (land.project / "tools/z").symlink_to(land.elsewhere)
    land.write("package.json", "")

    lines = differences({}, land.code("python3 tools/server.py"))

    assert f"{land.project}/tools (all code in this folder), 102 files" in lines
    assert f"{land.project}/tools/z (link to {land.elsewhere})" in lines
    assert f"{land.project}/package.json" in lines
    assert len(lines) < 10
    assert f"{land.project}/docs/notes.md" in differences({}, land.code("python3 docs/notes.md"))


@pytest.mark.parametrize(
    ("program", "text", "arguments"),
    [
        ("sh -c", 'cd "$1" && exec python3 server.py', "x FOLDER"),
        ("sh -c", "exec python3 $0/server.py", "FOLDER"),
        ("bash -e -o pipefail -c", 'exec "$@"', "x python3 FOLDER/server.py"),
        ("bash -c -e", 'cd "${2%/}"; exec python3 server.py', "x y FOLDER"),
        ("env A=1 sh -ec", 'shift; cd "$1"; exec python3 server.py', "x y FOLDER"),
        ("sh -c", 'for d in "$@"; do cd "$d" && exec python3 server.py; done', "x FOLDER"),
        ("sh -c", 'run-it "$1"; . "$1"/server.py', "x FOLDER"),
        ("sh -c", "exec python3 -P -c \"import os; os.chdir('$1')\"", "x FOLDER"),
        ("zsh -c", "sh -c 'cd \"$1\"; exec python3 server.py' x $1", "x FOLDER"),
        ("python3 -c", "import os, sys; os.chdir(sys.argv[1]); import server", "FOLDER"),
        ("node -e", "process.chdir(process.argv[1]); require('./server.js')", "FOLDER"),
        ("ruby -e", "Dir.chdir(ARGV[0]); load 'server.rb'", "FOLDER"),
    ],
)
def test_a_folder_counts_that_a_text_gets_as_an_argument(land: Land, program: str, text: str, arguments: str) -> None:
    land.write("mcp/server.py", "")
    words = [*program.split(), text, *arguments.replace("FOLDER", "mcp").split()]
    before = land.code_of(words)

    land.write("mcp/server.py", "changed")

    assert f"changed: {land.project}/mcp/server.py" in differences(before, land.code_of(words))


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('exec npx -y @modelcontextprotocol/server-filesystem "$1"', "x docs"),
        ('exec npx -y @modelcontextprotocol/server-filesystem "$@"', "x . docs"),
        ('TOKEN=$(cat ~/token) exec uvx mcp-server-git --repository "$1"', "x docs"),
    ],
)
def test_a_folder_is_data_if_a_text_gives_it_to_a_server_that_works_on_folders(
    land: Land, text: str, arguments: str
) -> None:
    land.write("docs/x.py", "")

    assert land.code_of(["sh", "-c", text, *arguments.split()]) == {}


def test_code_of_another_project_in_which_commands_could_write_is_known(land: Land) -> None:
    other = land.elsewhere / "other"
    (other / "docs").mkdir(parents=True)
    (other / "server.py").write_text("import helper")
    (other / "helper.py").write_text("")
    assert land.code(f"python3 {other}/server.py") == {}
    assert Places.of({}, str(land.elsewhere), str(other)).caches

    code = land.code(f"python3 {other}/server.py")
    (other / "helper.py").write_text("changed")

    assert list(code) == [str(other), f"{other}/helper.py", f"{other}/server.py"]
    assert differences(code, land.code(f"python3 {other}/server.py")) == [f"changed: {other}/helper.py"]


def test_a_link_out_of_the_project_is_known_by_where_it_leads(land: Land) -> None:
    (land.project / "tools/lib").symlink_to(land.elsewhere)
    before = land.code("python3 tools/server.py")
    (land.elsewhere / "many.py").write_text("")
    assert land.code("python3 tools/server.py") == before

    (land.project / "tools/lib").unlink()
    (land.project / "tools/lib").symlink_to(land.project / "docs")

    assert land.code("python3 tools/server.py") != before


def test_what_python_writes_for_itself_changes_nothing(land: Land) -> None:
    before = land.code("python3 tools/server.py")

    land.write("tools/__pycache__/server.cpython-312.pyc", "")
    os.utime(land.project / "tools/server.py", (1, 1))

    assert land.code("python3 tools/server.py") == before


@each(
    ("command", "package"),
    [
        ("npx -y @x/y .", "@x/y"),
        ("uvx --from ./a b", "b"),
        ("/usr/bin/npx y", "y"),
        ("npm exec -- y", "y"),
        ("npm --silent x y", "y"),
        ("pnpm dlx y", "y"),
        ("bun x y", "y"),
        ("uv tool run y", "y"),
        ("pipx run y", "y"),
        ("env A=b npx y", "y"),
        ("deno run -A npm:y", "npm:y"),
    ],
)
def test_package_runners_are_known_with_their_package(command: str, package: str) -> None:
    words = command.split()

    number = package_of_runner(words)

    assert number is not None
    assert words[number] == package


def test_a_long_line_without_a_runner_is_looked_through_once() -> None:
    """Settings of a server may be one line with many words."""
    assert package_of_runner(["word"] * 100_000) is None


@pytest.mark.parametrize("command", ["npm start", "uv run x.py", "node npx.js", "python3 -m uvx_like", "bun run x"])
def test_other_programs_are_no_package_runners(command: str) -> None:
    assert package_of_runner(command.split()) is None


@pytest.mark.parametrize(
    ("command", "imports"),
    [
        ("python3 -m x", True),
        ("/usr/bin/python3.12 -Im x", True),
        ("python3 -c pass", True),
        ("python3 server.py", False),
        ("node -c x", False),
    ],
)
def test_python_that_imports_from_where_it_starts_is_known(command: str, imports: bool) -> None:
    assert imports_from_directory(command.split()) is imports


def test_paths_of_a_runner_stay_those_of_the_project(land: Land) -> None:
    base = str(land.project)

    words = outside(["npx", "-y", "@x/y", ".", "docs", "./docs", "--root=./docs", "../elsewhere", "a/b", "/"], base)

    docs = f"{base}/docs"
    assert words == ["npx", "-y", "@x/y", base, "docs", docs, f"--root={docs}", str(land.elsewhere), "a/b", "/"]


@pytest.mark.parametrize(
    ("command", "starter", "text", "loaded"),
    [
        ("./run.sh", "run.sh", ". venv/bin/activate; exec python server.py", "venv/bin/activate"),
        ("php index.php", "index.php", "<?php require 'vendor/autoload.php';", "vendor/autoload.php"),
        ("./start.sh", "start.sh", "exec target/debug/server", "target/debug/server"),
        ("python3 server.py", "server.py", "import json", "copy/__init__.pyc"),
    ],
)
def test_what_a_starter_at_the_top_loads_is_part_of_its_code(
    land: Land, command: str, starter: str, text: str, loaded: str
) -> None:
    land.write(starter, text)
    land.write(loaded, "first")
    before = land.code(command)
    time.sleep(_TICK_SECONDS)

    land.write(loaded, "second, longer")

    assert land.code(command) != before


@pytest.mark.parametrize("command", ["python3 server.py", "python3 -m server", "uv run server.py", "lua server.lua"])
def test_a_new_folder_that_a_library_could_import_is_known(land: Land, command: str) -> None:
    """Python needs no `__init__.py`, and libraries try names such as `org.python.core`."""
    land.write("server.py", "import dataclasses")
    land.write("server.lua", "")
    land.write("scripts/one.py", "")
    before = land.code(command)
    land.write("scripts/two.py", "")
    land.write("data/one.csv", "")
    assert land.code(command) == before

    land.write("org/python/core.py", "")

    now = land.code(command)
    assert differences(before, now) == [f"new: {land.project}/org (a folder from which programs can import)"]
    assert not [line for line in differences({}, now) if "scripts" in line]


@pytest.mark.parametrize(
    ("command", "starter", "text"),
    [
        ("sh scripts/mcp.sh", "scripts/mcp.sh", "exec python3 -m acme.server"),
        ("make -sf build/Makefile mcp", "build/Makefile", "mcp:\n\t@python3 -m acme.server\n"),
        ("node scripts/mcp.mjs", "scripts/mcp.mjs", 'spawn("python3", ["-m", "acme.server"])'),
        (
            "python3 scripts/x.py",
            "scripts/x.py",
            'run(\n    [\n        sys.executable,\n        "-u",\n        "-m",\n',
        ),
        ("python3 scripts/x.py", "scripts/x.py", 'run(["python3", "-c", "import acme"])'),
    ],
)
def test_a_module_that_only_the_standard_library_imports_where_python_starts_is_known(
    land: Land, command: str, starter: str, text: str
) -> None:
    land.write(starter, text)
    before = land.code(command)

    land.write("contextlib.py", "")

    assert differences(before, land.code(command)) == [f"new: {land.project}/contextlib.py"]


def test_a_module_at_the_top_is_no_code_where_a_script_only_says_how_python_is_started(land: Land) -> None:
    land.write("scripts/mcp.sh", "# python3 -m acme.server would do, too\nexec python3 scripts/server.py\n")
    land.write("scripts/server.py", "")
    before = land.code("sh scripts/mcp.sh")

    land.write("contextlib.py", "")

    assert land.code("sh scripts/mcp.sh") == before


def test_a_new_folder_that_an_editable_install_of_the_project_makes_importable_is_known(land: Land) -> None:
    land.write(".venv/pyvenv.cfg", "")
    land.write(".venv/bin/installed_server", "")
    land.write(".venv/lib/python3.12/site-packages/project.pth", str(land.project))
    before = land.code(".venv/bin/installed_server")

    land.write("org/python/core.py", "")

    assert land.code(".venv/bin/installed_server") != before


_PACKAGES = "lib/python3.12/site-packages"


@pytest.mark.parametrize(
    ("command", "files", "changed"),
    [
        (
            "uv run --directory mono/server server.py",
            {"mono/server/.venv/pyvenv.cfg": "", f"mono/server/.venv/{_PACKAGES}/core.pth": "../../../../../core/src"},
            "mono/core/src/acme_core/__init__.py",
        ),
        (
            "uv run --directory mono/server server.py",
            {"mono/server/pyproject.toml": '[tool.uv.sources]\ncore = {path = "../core", editable = true}'},
            "mono/core/acme_core.py",
        ),
        (
            "uv run --directory mono/server server.py",
            {
                "mono/pyproject.toml": "[tool.uv.workspace]\nmembers = [\n  'libs/*'\n]",
                "mono/server/pyproject.toml": "[tool.uv.sources]\nacme-core = {workspace = true}",
                "mono/libs/core/pyproject.toml": 'name = "acme_core"',
            },
            "mono/libs/core/acme_core.py",
        ),
        (
            "cargo run --manifest-path mono/server/Cargo.toml",
            {
                "mono/Cargo.toml": '[workspace.dependencies]\nacme-core = {path = "crates/core"}',
                "mono/server/Cargo.toml": "[dependencies]\nacme-core.workspace = true",
                "mono/crates/core/Cargo.toml": 'name = "acme-core"\n[dependencies]\nutil = {path = "../util"}',
            },
            "mono/crates/util/src/lib.rs",
        ),
        (
            "go run -C mono/server .",
            {"mono/server/go.mod": "module s\nreplace (\n\tacme.com/core => ../core\n)"},
            "mono/core/core.go",
        ),
        (
            "bash ; -c ; cd mono/server && bundle exec ruby server.rb",
            {"mono/server/Gemfile": "gem 'acme', path: '../acme-rb'"},
            "mono/acme-rb/lib/acme.rb",
        ),
        (
            "dotnet run --project mono/server",
            {"mono/server/server.csproj": r'<ProjectReference Include="..\Acme.Core\Acme.Core.csproj"/>'}
            | {"mono/Acme.Core/Acme.Core.csproj": ""},
            "mono/Acme.Core/Core.cs",
        ),
        (
            "gradle -p mono/server run",
            {"mono/server/build.gradle": "", "mono/settings.gradle": "include 'server', ':libs:core'"},
            "mono/libs/core/src/Core.java",
        ),
        (
            "npm --prefix mono/server start",
            {"mono/server/package.json": '{"dependencies": {"x": "file:../core-js"}}'},
            "mono/core-js/index.js",
        ),
        ("uvicorn --app-dir mono/server server:app", {}, "mono/server/part.py"),
        ("gunicorn --chdir=mono/server server:app", {}, "mono/server/part.py"),
        ("conda run -p conda python docs/x", {"conda/conda-meta/history": ""}, f"conda/{_PACKAGES}/requests.py"),
        ("pixi run serve", {"pixi.toml": "[tasks]"}, f".pixi/envs/default/{_PACKAGES}/requests.py"),
    ],
)
def test_code_that_manifests_and_environments_refer_to_is_known(
    land: Land, command: str, files: dict[str, str], changed: str
) -> None:
    for path, text in {"mono/server/server.py": "", **files, changed: "first"}.items():
        land.write(path, text)
    before = land.code(command)
    time.sleep(_TICK_SECONDS)

    land.write(changed, "second, longer")

    assert land.code(command) != before


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("java -jar java/server.jar", "lib/near.jar"),
        ("java -jar java/server.jar", "lib/far away.jar"),
        ("java -jar java/server.jar", "classes/Main.class"),
        ("java -cp java/server.jar Main", "lib/near.jar"),
        ("java -cp classes:lib/* Main", "lib/near.jar"),
        ("java -cp lib/*:other Main", "lib/near.jar"),
        ("java -cp * Main", "top.jar"),
        ("java -p lib -m server/Main", "lib/near.jar"),
        ("java -Dloader.path=lib -jar java/plain.jar", "lib/near.jar"),
        ("java @options.args Main", "options.args"),
        ("perl -Mlib=perl/lib docs/notes.md", "perl/lib/X.pm"),
        ("perl -Mlib=other,perl/lib docs/notes.md", "perl/lib/X.pm"),
        ("perl -mlocal::lib=perl docs/notes.md", "perl/lib/X.pm"),
        ("php -d include_path=lib docs/notes.md", "lib/near.jar"),
        ("elixir -pa lib docs/notes.md", "lib/near.jar"),
    ],
)
def test_paths_of_classes_and_libraries_are_known(land: Land, command: str, changed: str) -> None:
    for name in ("lib/near.jar", "classes/Main.class", "top.jar", "options.args", "perl/lib/X.pm", "java/plain.jar"):
        land.write(name, "")
    _write_archive(land.project / "java/server.jar", "../lib/near.jar ../classes/ missing.jar")
    _write_archive(land.project / "lib/near.jar", "far%20away.jar")
    land.write("lib/far away.jar", "")
    before = land.code(command)

    land.write(changed, "changed")

    assert f"changed: {land.project / changed}" in differences(before, land.code(command))


def _write_archive(file: Path, class_path: str) -> None:
    line = f"Class-Path: {class_path}"
    with ZipFile(file, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\r\n{line[:20]}\r\n {line[20:]}\r\n")


def test_an_archive_that_java_cannot_read_refers_to_nothing(land: Land) -> None:
    land.write("java/server.jar", "PK no archive")

    assert str(land.project / "java/server.jar") in land.code("java -jar java/server.jar")


def test_members_of_a_workspace_that_a_server_does_not_use_are_no_code_of_it(land: Land) -> None:
    land.write("pyproject.toml", "[tool.uv.workspace]\nmembers = ['libs/*']\n[tool.pytest]\ntestpaths = ['docs']")
    land.write("server/pyproject.toml", 'dependencies = ["acme-core"]')
    land.write("server/server.py", "")
    land.write("libs/other/pyproject.toml", 'name = "other"')

    code = land.code("uv run --directory server server.py")

    assert str(land.project / "pyproject.toml") in code
    assert not [path for path in code if "libs" in path]


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("sh -c 'exec .venv/bin/python -I tools/server.py'", ""),
        ("sh -c 'exec .venv/bin/python -sE tools/server.py'", ""),
        ("env -i .venv/bin/python tools/server.py", ""),
        ("tools/run", "#!/bin/sh\nexec .venv/bin/python -I tools/server.py\n"),
        ("tools/run", "#!/usr/bin/env -S .venv/bin/python -I\n"),
        (".venv/bin/python tools/run", "#!/usr/bin/python3\nrun([sys.executable, '-I', 'x.py'])\n"),
        (".venv/bin/python tools/run", "#!/usr/bin/python3\nrun([sys.executable, 'x.py'], env={})\n"),
        ("ELSEWHERE/start.sh", "#!/bin/sh\ncd PROJECT; exec .venv/bin/python -I tools/server.py\n"),
    ],
)
def test_compiled_modules_count_where_a_python_ignores_its_variables(land: Land, command: str, text: str) -> None:
    land.write(".venv/pyvenv.cfg", "")
    land.write(".venv/bin/python", "")
    land.write(".venv/lib/python3/site-packages/acme.py", "")
    for file in (land.project / "tools/run", land.elsewhere / "start.sh"):
        file.write_text(text.replace("PROJECT", str(land.project)))
        file.chmod(0o755)
    words = shlex.split(command.replace("ELSEWHERE", str(land.elsewhere)))
    before = land.code_of(words)

    land.write(".venv/lib/python3/site-packages/__pycache__/acme.cpython-311.pyc", "")

    assert f"changed: {land.project}/.venv" in differences(before, land.code_of(words))


def test_compiled_modules_of_a_folder_that_code_mentions_count_too(land: Land) -> None:
    land.write("server/run", "#!/bin/sh\nexec /usr/bin/python3 -I shared/lib/main.py\n")
    land.write("server/package.json", "")
    land.write("shared/lib/main.py", "")
    before = land.code("server/run")

    land.write("shared/lib/__pycache__/main.cpython-311.pyc", "")

    assert differences(before, land.code("server/run")) == [f"new: {land.project}/shared/lib/__pycache__"]


@pytest.mark.parametrize("command", [".venv/bin/python -I tools/server.py", ".venv/bin/python -u -m tools.server"])
def test_compiled_modules_that_no_server_loads_do_not_count(land: Land, command: str) -> None:
    land.write(".venv/pyvenv.cfg", "")
    land.write(".venv/bin/python", "")
    land.write(".venv/lib/python3/site-packages/acme.py", "")
    before = land.code(command)

    land.write(".venv/lib/python3/site-packages/__pycache__/acme.cpython-311.pyc", "")

    assert f"{land.project}/.venv" in before
    assert land.code(command) == before
