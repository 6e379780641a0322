"""What scripts and settings outside of projects name in pieces is known: by variables, joined names, in other files."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import pytest

from kaa.shell.home import Home
from kaa.shell.mcp.code import code_of, differences
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry, Source
from kaa.shell.mcp.place import ServerPlace
from kaa.workspace.places import Places
from kaa.workspace.sandbox.options import SandboxOptions


class Desk:
    """The home of a user with a project at work, another one where kaa ran before, and scripts that start servers.

    Args:
        home: its folder.
    """

    def __init__(self, home: Path) -> None:
        self.home, self.project, self.other = home, home / "dev/app", home / "dev/earlier"
        self.environ = {"HOME": str(home), "PATH": f"{home}/bin:/usr/bin:/bin"}
        for name in ("server.py", "x.js", "tools/deep/server.js", "src/lib.js"):
            self.write(f"dev/app/{name}", "")
            self.write(f"dev/earlier/{name}", "")
        assert Places.of(self.environ, str(home), str(self.other)).caches
        self.place = ServerPlace(Home(home / "kaa"), self.environ, str(self.project), SandboxOptions)

    def write(self, path: str, text: str) -> None:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("HOME/", f"{self.home}/"))
        file.chmod(0o755)

    def code(self, command: str, **variables: str) -> dict[str, str]:
        """Of a command line whose words are separated by ` ; `, or else by blanks."""
        line = command.replace("~", str(self.home))
        name, *arguments = line.split(" ; ") if " ; " in line else line.split()
        entry = ServerEntry(
            command=name,
            args=tuple(arguments),
            env={name: value.replace("HOME/", f"{self.home}/") for name, value in variables.items()},
        )
        return code_of(ConfiguredServer("one", entry, Source("/file", "user"), "digest"), self.place)

    def notices(self, command: str, changed: str, **variables: str) -> bool:
        """Whether a change of a file changes the code of a server."""
        before = self.code(command, **variables)
        self.write(changed, "changed")
        return any(
            line.endswith(f"{self.home}/{changed}") for line in differences(before, self.code(command, **variables))
        )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve() / "home")


SHELL = [
    ('ROOT="$HOME/dev/app"; exec node "$ROOT/x.js"', "x.js"),
    ('ROOT="$HOME"/dev/app\nexec node "$ROOT"/tools/deep/server.js', "tools/deep/server.js"),
    ('cd "$HOME"/dev/app && exec python3 server.py', "server.py"),
    ('cd "$HOME/dev/app"\nexec npm start', "src/lib.js"),
    ("cd ~/dev; cd app; exec python3 server.py", "server.py"),
    ("cd ~/dev && exec python3 app/server.py", "server.py"),
    ('D=app; exec python3 "$HOME/dev/$D/server.py"', "server.py"),
    ('exec node "${APP_ROOT:-$HOME/dev/app}/x.js"', "x.js"),
    ('exec node "$(git rev-parse --show-toplevel)/tools/deep/server.js"', "tools/deep/server.js"),
    ('ROOT=$(git rev-parse --show-toplevel)\nexec node "$ROOT"/x.js', "x.js"),
    ('cd "$(git rev-parse --show-toplevel)"/tools/deep && exec node .', "tools/deep/server.js"),
    ('export NODE_OPTIONS="--require $HOME/dev/app/x.js"\nexec node "$HOME"/servers/own.js', "x.js"),
    ('exec node --import "$HOME"/dev/"app"/x.js ~/servers/own.js', "x.js"),
    ('exec make -C "$HOME/dev/app" serve', "server.py"),
    ('exec npm --prefix "$HOME"/dev/app start', "src/lib.js"),
    ('export BASH_ENV="$HOME/dev/app/x.js"; exec bash ~/servers/one.sh', "x.js"),
]


@pytest.mark.parametrize(("text", "loaded"), SHELL)
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_script_of_a_shell_names_code_in_pieces(desk: Desk, text: str, loaded: str, shell: str) -> None:
    desk.write("servers/own.js", "")
    desk.write("dev/app/package.json", '{"scripts": {"start": "node src/lib.js"}}')
    desk.write("dev/app/Makefile", "")
    desk.write("servers/start.sh", f"#!/bin/{shell}\n{text}\n")

    assert desk.notices("~/servers/start.sh", f"dev/app/{loaded}")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("start.py", 'runpy.run_path(str(Path.home() / "dev" / "app" / "server.py"))'),
        ("start.py", 'ROOT = os.path.join(os.path.expanduser("~"), "dev", "app")\nrun(ROOT + "/server.py")'),
        (
            "start.py",
            'root = os.path.join(\n    HOME,\n    "dev",\n    "app",\n)\nsys.path.insert(0, root)\nimport server',
        ),
        ("start.py", 'run(os.environ["HOME"] + "/dev/app/server.py")'),
        ("start.py", "run(f\"{os.environ['HOME']}/dev/app/server.py\")"),
        ("start.py", 'DEV = Path.home() / "dev"\nrun(DEV / "app" / "server.py")'),
        ("start.py", 'run("~/dev/app/server.py")'),
        ("start.py", 'run(Path.cwd() / "server.py")'),
        ("start.py", 'run(json.load(open("server.json"))["command"])'),
        ("start.py", 'os.chdir(os.path.expanduser("~/dev/app"))\nsys.path.insert(0, ".")\nimport server'),
        ("start.js", 'require(path.join(os.homedir(), "dev", "app", "server.py"))'),
        ("start.js", "await import(`${process.env.HOME}/dev/app/server.py`)"),
        ("start.js", 'const root = path.resolve(os.homedir(), "dev/app"); run(`${root}/server.py`)'),
        ("start.py", 'run(open(HOME / ".config" / "root.txt").read() + "/server.py")'),
        ("start.rb", 'load File.join(Dir.home, "dev", "app", "server.py")'),
        ("start.pl", 'do "$ENV{HOME}/dev/app/server.py";'),
    ],
)
def test_a_script_of_another_language_names_code_in_pieces(desk: Desk, name: str, text: str) -> None:
    desk.write(f"servers/{name}", f"{text}\n")
    desk.write(".config/root.txt", "dev/app\n")
    desk.write("dev/app/server.json", "{}")

    assert desk.notices(f"run-it ~/servers/{name}", f"dev/app/server.{'json' if 'json' in text else 'py'}")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("start.py", "sys.path.insert(0, str(Path.home() / 'dev' / 'earlier'))\nfrom deep import acme"),
        ("start.py", "sys.path.insert(0, str(Path.home() / 'dev' / 'earlier'))\nimport deep.acme"),
        ("start.py", "run([py, '-m', 'deep.acme'], cwd=Path.home() / 'dev' / 'earlier')"),
        ("start.py", "uvicorn.run('deep.acme:app', app_dir=Path.home() / 'dev' / 'earlier')"),
        ("start.lua", "package.path = os.getenv('HOME') .. '/dev/earlier/?.lua'\nrequire 'deep.acme'"),
        ("start.zsh", "cd ~earlier && exec python3 -m deep.acme"),
    ],
)
def test_modules_that_a_script_imports_from_a_named_project_are_known(desk: Desk, name: str, text: str) -> None:
    changed = f"dev/earlier/deep/acme.{'lua' if name.endswith('lua') else 'py'}"
    desk.write(changed, "")
    desk.write(f"servers/{name}", f"{text}\n")

    assert desk.notices(f"run-it ~/servers/{name}", changed)


@pytest.mark.parametrize(
    ("script", "files"),
    [
        (
            "start.py",
            {"start.py": 'load("settings.json")', "settings.json": '{"root": "dev/app", "main": "server.py"}'},
        ),
        ("start.py", {"start.py": "import settings", "settings.py": 'run(HOME / "dev" / "app" / "server.py")'}),
        (
            "start.js",
            {"start.js": 'require("./lib/a.js")', "lib/a.js": 'run(join(homedir(), "dev", "app", "server.py"))'},
        ),
        ("start.sh", {"start.sh": '. "$(dirname "$0")/acme.env"; run "$MAIN"', "acme.env": "MAIN=~/dev/app/server.py"}),
        (
            "start.sh",
            {"start.sh": '. "$HOME"/.config/acme/env; run $X', "../.config/acme/env": "X=$HOME/dev/app/server.py"},
        ),
        (
            "start.py",
            {"start.py": 'read(xdg("acme", "c.toml"))', "../.config/acme/c.toml": 'main = "~/dev/app/server.py"'},
        ),
        ("start.py", {"start.py": 'read(home() / ".acme.yaml")', "../.acme.yaml": "root: ~/dev/app\nmain: server.py"}),
        ("start.py", {"start.py": 'read(home() / ".acme.yaml")', "../.acme.yaml": "dev: app\nmain: server.py"}),
    ],
)
def test_files_that_a_script_reads_name_code_too(desk: Desk, script: str, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        desk.write(f"servers/{name}", text if name.endswith((".json", ".yaml")) else f"#!/bin/sh\n{text}\n")

    assert desk.notices(f"run-it ~/servers/{script}", "dev/app/server.py")


@pytest.mark.parametrize(
    ("command", "variables"),
    [
        ("run-it --config ~/servers/c.json", {}),
        ("run-it", {"ACME_CONFIG": "HOME/servers/c.json"}),
        ("node ~/servers/own.js", {"NODE_OPTIONS": "--require HOME/servers/hook.js"}),
        ("bash ~/servers/own.js", {"BASH_ENV": "HOME/servers/hook.js"}),
        ("~/servers/start.sh ~/dev/app", {}),
        ("~/servers/start.sh", {"APP_ROOT": "HOME/dev/app"}),
        ('sh ; -c ; ROOT="$HOME"/dev/app; exec python3 "$ROOT"/server.py', {}),
        ('python3 ; -c ; import runpy; runpy.run_path(home() / "dev" / "app" / "server.py")', {}),
    ],
)
def test_what_an_entry_names_outside_is_read_too(desk: Desk, command: str, variables: Mapping[str, str]) -> None:
    desk.write("servers/c.json", '{"command": ["python3", "$HOME/dev/app/server.py"]}')
    desk.write("servers/hook.js", 'require(join(homedir(), "dev", "app", "server.py"))')
    desk.write("servers/own.js", "")
    desk.write("servers/start.sh", '#!/bin/sh\ncd "${1:-$APP_ROOT}" && exec python3 server.py\n')

    assert desk.notices(command, "dev/app/server.py", **variables)


_ELSEWHERE = {
    "two/run.py": 'run(HOME / "dev" / "app" / "acme.py")',
    "two/Makefile": 'serve:\n\tpython3 "$(HOME)"/dev/app/acme.py\n',
    "two/x.mk": "serve:\n\tpython3 $(HOME)/dev/app/acme.py\n",
    "two/justfile": "serve:\n  python3 $HOME/dev/app/acme.py\n",
    "two/tsconfig.json": '{"compilerOptions": {"paths": {"@app/*": ["../../dev/app/*"]}}}',
    "two/only.ts": 'import "@app/acme"',
    "three/package.json": '{"scripts": {"start": "node index.js"}}',
    "three/index.js": 'run(join(homedir(), "dev", "app", "acme.py"))',
    "three/Cargo.toml": "",
    "four/pyproject.toml": '[project.scripts]\nserve = "acme_server:main"',
    "four/src/acme_server/__init__.py": 'run(HOME / "dev" / "app" / "acme.py")',
}


@pytest.mark.parametrize(
    "command",
    [
        "make -C ~/servers/two serve",
        "make -C~/servers/two serve",
        "make -f ~/servers/two/x.mk serve",
        "make -f~/servers/two/x.mk serve",
        "just --justfile ~/servers/two/justfile serve",
        "npm --prefix ~/servers/three start",
        "npm start --prefix=~/servers/three",
        "pnpm -C ~/servers/three start",
        "pnpm --dir ~/servers/three start",
        "yarn --cwd ~/servers/three start",
        "bun --cwd ~/servers/three run start",
        "cargo run --manifest-path ~/servers/three/Cargo.toml",
        "uv run --directory ~/servers/two run.py",
        "uv run --project ~/servers/four serve",
        "node ~/servers/three",
        "tsx ~/servers/two/only.ts",
        "tsx --tsconfig ~/servers/two/tsconfig.json /opt/x.ts",
        "ts-node -P ~/servers/two/tsconfig.json /opt/x.ts",
        "sh ; -c ; npm --prefix ~/servers/three start",
        "sh ; -c ; cd ~/servers/three && npm start",
        "~/servers/start.sh three start",
        "~/servers/next.sh",
    ],
)
def test_code_in_a_folder_outside_that_a_program_is_told_to_execute_is_read(desk: Desk, command: str) -> None:
    for name, text in _ELSEWHERE.items():
        desk.write(f"servers/{name}", text)
    desk.write("servers/start.sh", '#!/bin/sh\ncd "$HOME"/servers/three && exec npm start\n')
    desk.write("servers/next.sh", "#!/bin/sh\nexec npm --prefix ~/servers/three start\n")
    desk.write("dev/app/acme.py", "")

    assert desk.notices(command, "dev/app/acme.py")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("start.js", 'require("./current/lib.js")'),
        ("start.js", 'require("./current/lib")'),
        ("start.py", "from current import lib"),
        ("start.py", "import one"),
        ("start.sh", 'cd "$(dirname "$0")"/current && exec npm start'),
    ],
)
def test_links_that_lie_beside_a_script_are_followed(desk: Desk, name: str, text: str) -> None:
    (desk.home / "servers").mkdir()
    (desk.home / "servers/current").symlink_to(desk.project / "src")
    (desk.home / "servers/one.py").symlink_to(desk.project / "src/lib.js")
    desk.write(f"servers/{name}", f"{text}\n")

    assert desk.notices(f"run-it ~/servers/{name}", "dev/app/src/lib.js")


@pytest.mark.parametrize(
    "text",
    [
        'cd "$HOME"/dev/earlier && exec node x.js',
        'for one in "$HOME"/dev/*; do node "$one/tools/deep/server.js"; done',
        'exec node "$EARLIER"/tools/deep/server.js',
    ],
)
def test_code_of_another_known_project_is_named_in_pieces(desk: Desk, text: str) -> None:
    desk.write("servers/start.sh", f"#!/bin/sh\n{text}\n")
    changed = "x.js" if "x.js" in text else "tools/deep/server.js"

    assert desk.notices("~/servers/start.sh", f"dev/earlier/{changed}")


def test_of_a_project_that_a_script_names_the_code_is_known_that_tools_find_by_themselves(desk: Desk) -> None:
    desk.write("dev/app/pyproject.toml", '[project.scripts]\nserve = "acme.server:main"')
    desk.write("dev/app/src/acme/server.py", "")
    desk.write("servers/start.py", 'run(["uv", "run", "serve"], cwd=Path.home() / "dev" / "app")')

    assert desk.notices("python3 ~/servers/start.py", "dev/app/src/acme/server.py")


@pytest.mark.parametrize(
    ("manifest", "text"),
    [
        ("Makefile", "serve:\n\tpython3 inner/run.py\n"),
        ("justfile", "serve:\n  cd inner; python3 run.py\n"),
        ("Taskfile.yml", "tasks: {serve: {cmds: [python3 inner/run.py]}}"),
        ("compose.yaml", "services: {serve: {build: ./inner}}"),
        ("pyproject.toml", '[tool.hatch.build.targets.wheel]\npackages = ["inner"]'),
        ("package.json", '{"scripts": {"serve": "python3 inner/run.py"}}'),
    ],
)
def test_of_a_project_that_a_script_names_the_code_is_known_that_its_manifests_name(
    desk: Desk, manifest: str, text: str
) -> None:
    desk.write(f"dev/app/{manifest}", text)
    desk.write("dev/app/inner/run.py", "")
    desk.write("dev/earlier/inner/run.py", "")
    desk.write("servers/start.py", 'run(["build-it"], cwd=Path.home() / "dev" / "app")')

    assert desk.notices("python3 ~/servers/start.py", "dev/app/inner/run.py")
    assert not [path for path in desk.code("python3 ~/servers/start.py") if "earlier" in path]


@pytest.mark.parametrize("folder", ["my tools", "[id], (new)", "C#", "tools/über uns; a & b/x"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("start.sh", 'exec python3 "$HOME/dev/app/FOLDER/server.py"'),
        ("start.sh", 'exec python3 "HOME/dev/app/FOLDER/server.py"'),
        ("start.sh", "cd ~/dev/app; cd 'FOLDER' && exec python3 server.py"),
        ("start.sh", 'ROOT=$HOME/dev/app\nexec python3 "$ROOT/FOLDER/server.py"'),
        ("start.py", 'run(Path.home() / "dev" / "app" / "FOLDER" / "server.py")'),
        ("start.py", 'run("HOME/dev/earlier/FOLDER/server.py".replace("earlier", "app"))'),
        ("start.py", 'ROOT = Path.home() / "dev/app"\nrun(ROOT / "FOLDER/server.py")'),
        ("start.js", "await import(`file://${homedir()}/dev/app/ENCODED/server.py`)"),
        ("start.toml", 'main = "~/dev/app/FOLDER/server.py"'),
    ],
)
def test_no_character_of_a_name_hides_it(desk: Desk, name: str, text: str, folder: str) -> None:
    desk.write(f"dev/app/{folder}/server.py", "")
    text = text.replace("FOLDER", folder).replace("ENCODED", quote(folder))
    desk.write(f"servers/{name}", f"#!/bin/sh\n{text}\n" if name.endswith(".sh") else f"{text}\n")

    assert desk.notices(f"run-it ~/servers/{name}", f"dev/app/{folder}/server.py")


def test_a_name_with_a_blank_is_read_as_shells_escape_it(desk: Desk) -> None:
    desk.write("dev/app/my tools (new)/server.py", "")
    desk.write("dev/app/my/other.py", "")
    desk.write("servers/start.sh", "#!/bin/sh\nexec python3 ~/dev/app/my\\ tools\\ \\(new\\)/server.py\n")

    assert desk.notices("~/servers/start.sh", "dev/app/my tools (new)/server.py")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("start.js", 'class S {\n  #main = path.join(os.homedir(), "dev/app/x.js");\n}'),
        ("start.mts", '#main = join(homedir(), "dev", "app", "x.js")'),
        ("start.php", '#[Loads(DEV . "/dev/app/x.js")]'),
        ("start.c", '#include "dev/app/x.js"'),
        ("start", '#!/usr/bin/env node\nclass S {\n  #main = "HOME/dev/app/x.js";\n}'),
        ("start.sh", "#!/bin/sh\nexec node - <<'X'\nclass S {\n  #main = \"HOME/dev/app/x.js\";\n}\nX"),
        ("start.py", 'js = """\nclass S {\n  #main = "HOME/dev/app/x.js";\n}\n"""'),
        ("start.py", "js = '''\n  #main = dev/app/x.js\n'''"),
        ("s.toml", 'run = """\n  #main = HOME/dev/app/x.js\n"""'),
        ("s.yaml", "steps:\n  - run: >\n      node -e\n      #main = HOME/dev/app/x.js\n  - other: 1"),
        ("s.yml", "run: |-\n\n  #main HOME/dev/app/x.js\n"),
    ],
)
def test_a_line_that_begins_with_a_hash_is_code_in_languages_without_such_comments(
    desk: Desk, name: str, text: str
) -> None:
    desk.write(f"servers/{name}", f"{text}\n")

    assert desk.notices(f"run-it ~/servers/{name}", "dev/app/x.js")


@pytest.mark.parametrize(
    "name", ["start.sh", "start.py", "start.rb", "start.pl", "s.toml", "s.yaml", "s.ini", ".env", "Makefile"]
)
def test_a_line_that_begins_with_a_hash_is_a_comment_in_others(desk: Desk, name: str) -> None:
    before = "run: >\n  serve\n" if name == "s.yaml" else ""
    text = f"{before}# was: ~/dev/app/x.js\nserve\n  # and $HOME/dev/app/server.py\n"
    desk.write(f"servers/{name}", text)

    assert desk.code(f"run-it ~/servers/{name}") == {}


@pytest.mark.parametrize(
    "text",
    [
        'node "$HOME"/dev/app/my*/x.js',
        "node $HOME/dev/app/my*/x.js",
        "node ~/dev/app/m?\\ tools/*.js",
        'cd "$HOME/dev/app"; node */x.js',
        "for one in ~/dev/app/*; do node $one/x.js; done",
    ],
)
def test_what_a_pattern_of_a_shell_means_is_known(desk: Desk, text: str) -> None:
    desk.write("dev/app/my tools/x.js", "")
    desk.write("servers/start.sh", f"#!/bin/sh\n{text}\n")

    assert desk.notices("~/servers/start.sh", "dev/app/my tools/x.js")


@pytest.mark.parametrize(
    "text",
    [
        'ROOT="$HOME/dev/app"; exec npx tsx "$ROOT/inner/deep/x.ts"',
        'cd "$HOME/dev/app"\nexec npx -y tsx inner/deep/x.ts',
        'cd "$HOME/dev/app"\nexec npx -y acme-runner --quiet inner/deep/x.ts',
        'cd "$HOME/dev/app"\nexec uvx fastmcp run inner/deep/x.ts',
        'cd "$(git rev-parse --show-toplevel)" && exec npx -y tsx@4 "inner/deep/x.ts"',
        'exec npx -y tsx "$HOME/dev/app/inner/deep"',
        'exec npx -y dotenv-cli -- node "$HOME/dev/app/inner/deep"',
        'exec uvx --from "git+file://$HOME/dev/app/inner/deep" serve',
        "exec uvx --from git+file:HOME/dev/app/inner/deep@main serve",
    ],
)
def test_code_that_a_script_gives_to_a_package_runner_is_known(desk: Desk, text: str) -> None:
    desk.write("dev/app/inner/deep/x.ts", "")
    desk.write("dev/app/inner/deep/package.json", '{"main": "x.ts"}')
    desk.write("servers/start.sh", f"#!/bin/sh\n{text}\n")

    assert desk.notices("~/servers/start.sh", "dev/app/inner/deep/x.ts")


@pytest.mark.parametrize(
    ("text", "manifest", "source"),
    [
        ('cd "$HOME/dev/app" && exec cargo run -q', "Cargo.toml", "src/tools/a.rs"),
        ('exec cargo run --manifest-path "$HOME/dev/app/Cargo.toml"', "Cargo.toml", "src/tools/a.rs"),
        ('cd "$HOME/dev/app" && exec go run .', "go.mod", "internal/a.go"),
        ('exec mvn -q -f "$HOME/dev/app/pom.xml" exec:java', "pom.xml", "src/main/java/A.java"),
        ('exec gradle -q -p "$HOME/dev/app" run', "build.gradle", "core/src/main/java/A.java"),
        ('cd "$HOME/dev/app" && ./gradlew -q run', "settings.gradle.kts", "core/src/main/java/A.java"),
        ('exec dotnet run --project "$HOME/dev/app"', "Acme.csproj", "Tools/A.cs"),
        ('exec dotnet run --project "$HOME/dev/app/Acme"', "Acme/Acme.csproj", "Acme/Tools/A.cs"),
        ('cd "$HOME/dev/app" && exec mix run --no-halt', "mix.exs", "lib/a.ex"),
        ('exec julia --project="$HOME/dev/app" -e "using Acme"', "Project.toml", "core/a.jl"),
    ],
)
def test_a_folder_that_a_script_builds_counts_as_a_whole(desk: Desk, text: str, manifest: str, source: str) -> None:
    desk.write(f"dev/app/{manifest}", "")
    desk.write(f"dev/app/{source}", "")
    desk.write("servers/start.sh", f"#!/bin/sh\n{text}\n")

    assert desk.notices("~/servers/start.sh", f"dev/app/{source}")


def test_a_folder_that_another_program_builds_does_not_count_as_a_whole(desk: Desk) -> None:
    desk.write("dev/app/Cargo.toml", "")
    desk.write("dev/app/core/a.rs", "")
    desk.write("servers/start.sh", '#!/bin/sh\nexec python3 "$HOME/dev/app/server.py"\n')

    assert not desk.notices("~/servers/start.sh", "dev/app/core/a.rs")


@pytest.mark.parametrize("text", ['load(join(homedir(), "dev", "app", "x.js"))', "load(`${HOME}/dev/app/x.js`)"])
def test_the_name_of_a_project_is_found_anywhere_in_a_bundle(desk: Desk, text: str) -> None:
    filling = 'call("some/app/of/others", "app", deep);\n' * 1700  # 68 KB
    desk.write("servers/bundle.js", f"{filling}{text};\n{filling}")

    assert desk.notices("node ~/servers/bundle.js", "dev/app/x.js")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("serve.sh", '#!/bin/sh\nexec npx -y @modelcontextprotocol/server-filesystem "$HOME/dev/app"\n'),
        (
            "serve.sh",
            '#!/bin/sh\ncd "$HOME/servers" && exec uvx mcp-server-git --repository "$HOME/dev/app" tools deep\n',
        ),
        ("serve.sh", '#!/bin/sh\nTOKEN=x exec docker run -v "$HOME"/dev/app:/work image\n'),
        ("serve.sh", '#!/bin/sh\nexec serve --log "$HOME"/dev/app/server.log\n'),
        ("serve.sh", "#!/bin/sh\n# see https://example.org/dev/app and ~/dev/app/x.js\nexec app --port 1\n"),
        ("serve.sh", "#!/bin/sh\nexec serve ~/dev/app/notes.txt\n"),
        ("serve.sh", '#!/bin/sh\nexec node "$(dirname "$0")/x.js"\n'),
        ("serve.py", 'app = FastMCP("notes")\napp.run()\nopen("package.json")\n'),
        ("serve.py", 'from tools import deep\n"""Serves the app of a developer: server, tools and src."""\n'),
        ("serve.js", 'require("./x.js"); require("./tools/deep/server.js")\n'),
        ("node_modules/one/index.js", 'require(join(homedir(), "dev", "app", "server.py"))\n'),
    ],
)
def test_scripts_that_name_no_code_of_a_project_need_no_approval(desk: Desk, name: str, text: str) -> None:
    desk.write("dev/app/package.json", "{}")
    desk.write("dev/app/notes.txt", "")
    for file in ("x.js", "tools/deep/server.js"):
        desk.write(f"servers/{file}", "")
    desk.write(f"servers/{name}", text)

    assert desk.code(f"run-it ~/servers/{name}") == {}


def test_many_long_texts_that_a_script_loads_do_not_hide_what_it_names(desk: Desk) -> None:
    names = [f"part{number}" for number in range(20)]
    for name in names:
        desk.write(f"servers/{name}.js", "".join(f'call("dev/{one}/app.js", src.x, tools.y);\n' for one in names) * 8)
    start = "\n".join(f'require("./{name}.js")' for name in names)
    desk.write("servers/start.js", f'{start}\nrequire(join(homedir(), "dev", "app", "x.js"))')

    assert desk.notices("node ~/servers/start.js", "dev/app/x.js")
