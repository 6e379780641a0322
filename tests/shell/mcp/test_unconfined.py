"""A server without a sandbox names nothing that commands of the model can write, in any project."""

from pathlib import Path

import pytest

from kaa.shell.home import Home
from kaa.shell.mcp.place import ServerCommandLine, ServerPlace
from kaa.shell.mcp.unconfined import HiddenWordError, writable_word
from kaa.workspace.places import Places
from kaa.workspace.sandbox.options import SandboxOptions


class Land:
    """A project at work, another one in which commands ran before, and a folder of programs."""

    def __init__(self, home: Path) -> None:
        self.home, self.project, self.other = home, home / "work/app", home / "work/other"
        for folder in (self.project / "tools", self.project / "run", self.other, home / "bin"):
            folder.mkdir(parents=True)
        self.environ = {"HOME": str(home)}
        assert Places.of(self.environ, str(home), str(self.other)).caches
        self.place = ServerPlace(Home(home / ".kaa/agent"), self.environ, str(self.project), SandboxOptions)

    def named(self, command: str, cwd: str = "", **variables: str) -> str | None:
        """What a command line leads to, whose words are separated by ` ; `, or else by blanks."""
        filled = (command.split(" ; ") if " ; " in command else command.split(), variables.values(), [cwd])
        words, values, (where,) = (
            [text.replace("PROJECT", str(self.project)).replace("OTHER", str(self.other)) for text in texts]
            for texts in filled
        )
        return writable_word(
            ServerCommandLine(tuple(words), dict(zip(variables, values, strict=True)), where), self.place
        )


@pytest.fixture
def land(tmp_path: Path) -> Land:
    return Land(tmp_path.resolve() / "home")


@pytest.mark.parametrize(
    "command",
    [
        "npx --prefix PROJECT/tools planted",
        "npx --userconfig=PROJECT/x.html planted",
        "ninja -C PROJECT/build server",
        "ninja -CPROJECT/build server",
        "docker-compose --project-directory PROJECT run x",
        "docker --config PROJECT run image",
        "docker run -v PROJECT/docs:/docs image",
        "docker run --mount type=bind,src=PROJECT/docs,dst=/docs image",
        "docker run -v PROJECT/.:/docs image",
        "docker run -v ./:/docs image",
        "java @PROJECT/arguments",
        "run-it file://PROJECT/it",
        "run-it PROJECT",
        "run-it OTHER/server.py",
        "run-it ~/link/server.py",
        "./tools/server",
        "tools/server",
        "run-it --from ./dist",
        "sh ; -c ; cd ~/work && sh app/h.sh",
        "sh ; -c ; exec $HOME/work/app/h.sh",
        "sh ; -c ; sh ~/work/a*/tools",
    ],
)
def test_what_commands_can_write_is_found_in_every_word(land: Land, command: str) -> None:
    (land.home / "link").symlink_to(land.project)

    assert land.named(command)


@pytest.mark.parametrize(
    "command",
    [
        "npx -y @scope/server",
        "npx run",
        "uvx some-server --port 8080",
        "docker run -i --rm mcp/filesystem /docs",
        "docker run -i --rm -v PROJECT:/work -w PROJECT image",
        "podman run --mount type=bind,src=PROJECT,dst=/work ghcr.io/some/image:latest",
        "/usr/local/bin/server --log ~/server.log",
        "~/bin/server https://example.com/work/app",
        "sh ; -c ; exec ~/bin/server --all",
    ],
)
def test_what_is_ordinary_names_nothing_of_a_project(land: Land, command: str) -> None:
    assert land.named(command) is None


@pytest.mark.parametrize(
    "command",
    [
        "docker run -i --rm -v PROJECT:/app -e TOKEN python:3.12 python3 /app/tools/server.py",
        "docker run -v PROJECT:/app:ro image sh /app/tools/server.py",
        "docker run -vPROJECT:/app image /app/tools/new.sh",
        "podman run --mount type=bind,source=PROJECT,target=/app --entrypoint=/app/tools/server.py image",
        "docker container run --volume=PROJECT:/app -w /app node:22 npm start",
        "docker run -v PROJECT:/app --workdir=/app/tools image npx -y server",
        "docker run -v PROJECT:/app -w /app node server.js",
        "docker run -v PROJECT:/app node:22 /app/package",
        "docker run -v PROJECT:/app -w /app image tools/server.py",
        "docker ; run ; -v ; PROJECT:/app ; image ; sh ; -c ; cd /app/tools && node x.js",
        "docker run -v PROJECT:/app -e PYTHONPATH=/app/lib image",
        "docker run -v PROJECT:/app --env=PLUGIN_DIR=/app image",
        "docker run -v PROJECT:/app -ePATH=/app/bin:/usr/bin image",
        "docker run -v PROJECT:/app node:22 node file:///app/x.mjs",
        "docker run -v PROJECT:/app denoland/deno run -A file:///%61pp/x.ts",
        "docker run -v PROJECT:/app image --plugin file:///app/tools",
        "docker run -v PROJECT:/app python:3 python3 //app/server.py",
        "docker run -v PROJECT:/app -w /app image /proc/self/cwd/tools/x",
        'docker run --mount type=bind,"source=PROJECT",target=/app python:3 python3 /app/x.py',
        "docker run -v PROJECT:/app image uv --directory /app/mcp run server.py",
        "docker run -v PROJECT:/app image npm --prefix /app start",
        "docker run -v PROJECT:/app hashicorp/terraform -chdir=/app apply",
        "docker run -v PROJECT:/app -w /app image server.py",
        "docker run -v PROJECT:/app node:22 /app",
        "docker run -v PROJECT:/docker-entrypoint.d nginx",
        "docker run -v PROJECT:/usr/local/bin image",
        "docker run -v PROJECT:/etc/profile.d image",
        "docker run -v PROJECT:/usr/lib/python3/site-packages/acme image",
        "docker run --mount type=bind,source=PROJECT image",
        "docker run -v PROJECT:/app python:3.12 python3 /app/../app/tools/new.py",
        "docker run -v PROJECT:/app python:3.12 python3 app/tools/new.py",
        "docker run -v PROJECT:/app python:3.12 python3 server.py",
        "docker run -v PROJECT:/app acme/gem bundle --root /app",
        "docker run -v PROJECT:/app java @/app/arguments.txt",
        "docker run --entrypoint /app/run acme/x -v PROJECT:/app",
        "docker ; run ; -v ; PROJECT:/app ; alpine ; sh ; -c ; python3 /*/new.py",
        "docker run -v PROJECT:/app -w //app ghcr.io/acme/runner ./tools/start",
        "docker run -v PROJECT:/app -w /app -e NODE_OPTIONS=--require=./x.js acme/x",
        "docker run -v PROJECT:/app -w /app -e PYTHONPATH=lib acme/x",
        "docker ; run ; -v ; PROJECT:/app ; -w ; /app ; alpine ; ash ; -c ; ./run.sh",
        "docker run --mount type=bind,source=PROJECT,somewhere=/app python:3.12 python3 /app/server.py",
        "docker run -v PROJECT/..:/work python:3.12 python3 /work/app/server.py",
        "docker run -v PROJECT:/home/node node:22 npx -y acme",
        "docker run -v PROJECT:/venv/lib/python3.12/site-packages/acme acme/x",
        "docker run -v PROJECT:/ acme/x",
        "docker run -v /srv/data:/data -v PROJECT:/app image /data/x.py /app/x.py",
    ],
)
def test_a_container_executes_nothing_of_a_project_that_it_is_lent(land: Land, command: str) -> None:
    (land.project / "tools/server.py").touch()
    (land.project / "package").mkdir()
    (land.project / "package/package.json").touch()

    found = land.named(command)

    assert found is not None
    assert found.startswith(str(land.project))


@pytest.mark.parametrize(
    "command",
    [
        "docker run -i --rm -v PROJECT:/work mcp/filesystem /work",
        "docker run -v PROJECT:/work mcp/filesystem /work/run",
        "docker run -v PROJECT:/work -w /work mcp/git --repository /work",
        "docker run -v PROJECT:/work mcp/sqlite --db-path /work/notes.db",
        "docker run -v PROJECT:/work python:3.12 python3 /opt/server.py /work",
        "docker run -v PROJECT:/work -e ALLOWED_PATHS=/work -eROOT=/work/docs mcp/filesystem",
        "docker run -v PROJECT:/work -w /work image",
        "docker run -i --rm -v PROJECT:/workspace acme/mcp /workspace",
        "docker run -i --rm -v PROJECT:/workspace -w /workspace acme/mcp --verbose serve",
        "docker run -i --rm -v PROJECT:PROJECT -w PROJECT mcp/git",
        "docker run -i --rm -v PROJECT:/workspace -e WORKSPACE=/workspace -e TOKEN ghcr.io/acme/mcp:latest",
        "docker run -i --rm -v PROJECT:/workspace node:22 npx -y @acme/server --root=/workspace",
        "docker run -i --rm -v PROJECT:/app -v notes:/data acme/mcp https://example.com/app/x.js",
        "docker run -i --rm -v notes:/app acme/mcp /app/x.js",
        "docker run -i --rm -v PROJECT:/data acme/mcp python3 server.py",
        "docker run -v PROJECT:/workspace mcp/git --repository=/workspace",
        "docker run -v PROJECT:/work image --notes /worker/x.py",
        "docker run -i --rm --mount type=bind,src=PROJECT,dst=/projects/app mcp/filesystem /projects",
    ],
)
def test_a_container_may_work_on_a_project(land: Land, command: str) -> None:
    assert land.named(command) is None


def test_variables_that_are_passed_on_to_a_container_count(land: Land) -> None:
    file = land.home / "variables"
    file.write_text("TOKEN\nNODE_OPTIONS=--require=/app/x.js\n")

    assert land.named("docker run -v PROJECT:/app -e PYTHONPATH acme/x", PYTHONPATH="/app/lib")
    assert land.named("docker run -v PROJECT:/app -e TOKEN acme/x", TOKEN="/app/lib")
    assert land.named("docker run -v PROJECT:/app -e REPO_PATH -e TOKEN acme/x", REPO_PATH="/app", TOKEN="a/b") is None
    assert land.named(f"docker run -v PROJECT:/app --env-file {file} acme/x")


def test_the_path_that_is_found_is_named(land: Land) -> None:
    assert land.named("docker run -v PROJECT/docs:/docs image") == str(land.project / "docs")


def test_variables_and_the_directory_are_words_too(land: Land) -> None:
    assert land.named("server", NODE_PATH="/usr/lib:PROJECT/lib")
    assert land.named("server", cwd="OTHER")
    assert land.named("server", cwd="/", TOKEN="pa$$ word") is None


def test_a_project_in_a_directory_that_commands_write_is_not_lent_to_a_container(land: Land) -> None:
    inside = land.other / "inside"
    inside.mkdir()
    place = ServerPlace(land.place.home, land.environ, str(inside), SandboxOptions)

    assert writable_word(ServerCommandLine(("docker", "run", "-v", f"{inside}:/work", "image"), {}, ""), place)


@pytest.mark.parametrize("line", ["sh $(echo app)/h.sh", "p=app; sh ~/work/$p/h.sh", "sh `echo app`/h.sh"])
def test_a_line_that_computes_its_paths_is_refused_with_what_to_do(land: Land, line: str) -> None:
    with pytest.raises(HiddenWordError, match="name it plainly"):
        land.named(f"sh ; -c ; {line}")
