"""What an extension process tries that its permissions do not include, each with what must keep working."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar
from unittest import mock

import pytest

from kaa.workspace.sandbox.program import ProgramRights, ProjectAccess, UnconfinedError
from tests.support.elsewhere import folder_elsewhere
from tests.support.extension_program import Ground, Puppet

T = TypeVar("T")
_EFFECTIVE = ("full", "bwrap")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """Not below a temporary directory: a project there is invisible to who only reads it."""
    with folder_elsewhere() as folder:
        yield folder


def _with(
    ground: Ground, scenario: Callable[[Puppet], Awaitable[T]], needs: tuple[str, ...] = (), **rights: object
) -> T:
    """Run a scenario with the program; skip where no tier, or none of those that are needed, holds."""

    async def run() -> T:
        async with ground.running(**rights) as puppet:  # type: ignore[arg-type] # as ProgramRights takes them
            if needs and puppet.program.tier not in needs:
                pytest.skip(f"tier {puppet.program.tier} does not hold this")
            return await scenario(puppet)

    try:
        return asyncio.run(run())
    except UnconfinedError:
        pytest.skip("no tier holds on this machine")


@pytest.mark.parametrize("access", ["none", "read", "write"])
@pytest.mark.parametrize("layout", ["beside the home", "in the home", "with a folder of kaa's outside"])
def test_secrets_and_the_home_are_not_read(tmp_path: Path, access: ProjectAccess, layout: str) -> None:
    project = "home/work/project" if layout == "in the home" else "project"
    agent = "elsewhere/kaa" if layout == "with a folder of kaa's outside" else "home/.kaa/agent"
    ground = Ground(tmp_path, project, agent)

    async def look(puppet: Puppet) -> list[bool]:
        return [await puppet.can("read", str(secret)) for secret in ground.secrets]

    assert _with(ground, look, access=access) == [False] * 3


@pytest.mark.parametrize("agent", ["home/.kaa/agent", "elsewhere/kaa"])
def test_folders_that_it_may_read_uncover_no_secrets(elsewhere: Path, agent: str) -> None:
    ground = Ground(elsewhere, agent=agent)
    named = (ground.home, ground.home / ".ssh", *ground.secrets[:2], ground.agent, elsewhere)

    async def look(puppet: Puppet) -> list[bool]:
        return [await puppet.can("read", str(secret)) for secret in ground.secrets]

    assert _with(ground, look, readable=tuple(map(str, named))) == [False, False, True]


@pytest.mark.parametrize("exception", ["{home}/.ssh", "{home}", "{home}/.*", "{agent}", "{agent}/..", "{home}/.k*"])
def test_exceptions_of_the_user_uncover_secrets_but_nothing_of_kaa(tmp_path: Path, exception: str) -> None:
    ground = Ground(tmp_path)
    shown = exception.format(home=ground.home, agent=ground.agent)

    async def look(puppet: Puppet) -> list[bool]:
        return [await puppet.can("read", str(secret)) for secret in ground.secrets[:2]]

    is_about_keys = exception in ("{home}/.ssh", "{home}")
    assert _with(ground, look, hidden=(f"!{shown}",)) == [is_about_keys, False]


@pytest.mark.parametrize("agent", ["home/.kaa/agent", "elsewhere/kaa"])
def test_its_folder_is_read_and_its_data_written(tmp_path: Path, agent: str) -> None:
    ground = Ground(tmp_path, agent=agent)

    async def work(puppet: Puppet) -> tuple[bool, ...]:
        return (
            await puppet.can("read", str(ground.code / "main.py")),
            await puppet.can("write", str(ground.data / "notes")),
            await puppet.can("write", str(ground.code / "main.py")),
            await puppet.can("write", str(ground.code / "planted")),
        )

    assert _with(ground, work) == (True, True, False, False)
    assert (ground.data / "notes").read_text() == "planted"


@pytest.mark.parametrize(
    ("access", "reads", "writes"), [("none", False, False), ("read", True, False), ("write", True, True)]
)
@pytest.mark.parametrize("project", ["project", "home/work/project"])
def test_the_project_is_what_the_permission_says(
    elsewhere: Path, project: str, access: ProjectAccess, reads: bool, writes: bool
) -> None:
    ground = Ground(elsewhere, project)

    async def work(puppet: Puppet) -> tuple[bool, bool, bool]:
        file, new = str(ground.project / "file"), str(ground.project / "new")
        return await puppet.can("read", file), await puppet.can("write", file), await puppet.can("write", new)

    assert _with(ground, work, access=access) == (reads, writes, writes)


def test_nothing_outside_is_written(ground: Ground, tmp_path: Path) -> None:
    outside = [tmp_path, ground.home, ground.agent, ground.home / ".ssh", ground.data.parent, ground.code.parent]

    async def work(puppet: Puppet) -> list[bool]:
        for folder in outside:  # a test's own directory is below /tmp, of which the program has its own
            await puppet.ask("write", str(folder / "planted"))
        return [await puppet.can("write", f"{folder}/kaa-planted") for folder in ("/etc", "/usr", "/var/tmp/..")]

    assert _with(ground, work, access="write") == [False] * 3
    assert not any((folder / "planted").exists() for folder in outside)


def test_protected_names_of_the_project_are_not_written(ground: Ground) -> None:
    (ground.project / ".vscode").mkdir()

    async def work(puppet: Puppet) -> bool:
        return await puppet.can("write", str(ground.project / ".vscode" / "tasks.json"))

    assert not _with(ground, work, needs=_EFFECTIVE, access="write")


def test_a_secret_is_not_linked_or_moved_into_its_data(ground: Ground) -> None:
    async def work(puppet: Puppet) -> list[bool]:
        secret = str(ground.secrets[1])
        return [await puppet.can(how, secret, str(ground.data / "stolen")) for how in ("hard link", "rename")]

    assert _with(ground, work) == [False, False]


def test_the_environment_has_named_keys_only(ground: Ground) -> None:
    own = {"OPENAI_API_KEY": "sk-1", "SOME_NAME": "hunter2", "LANG": "C.UTF-8", "SSH_AUTH_SOCK": "/x", "LD_PRELOAD": ""}

    async def look(puppet: Puppet) -> dict[str, str]:
        variables: dict[str, str] = (await puppet.ask("environment"))["done"]
        return variables

    variables = _with(ground, look, environment=own, variables={"ANTHROPIC_API_KEY": "sk-2"})

    assert variables["ANTHROPIC_API_KEY"] == "sk-2"
    assert variables["LANG"] == "C.UTF-8"
    assert variables["HOME"] == str(ground.home)
    assert not variables.keys() & {"OPENAI_API_KEY", "SOME_NAME", "SSH_AUTH_SOCK", "LD_PRELOAD"}


def test_the_environment_of_kaa_is_not_read_from_proc(ground: Ground) -> None:
    async def look(puppet: Puppet) -> bool:
        return await puppet.can("read", f"/proc/{os.getpid()}/environ")

    assert not _with(ground, look)


def test_kaa_is_not_traced_or_signalled(ground: Ground) -> None:
    async def attack(puppet: Puppet) -> list[bool]:
        return [await puppet.can("trace", os.getpid()), await puppet.can("kill", os.getpid())]

    assert _with(ground, attack, needs=_EFFECTIVE) == [False, False]


@pytest.mark.parametrize("hosts", [(), ("example.com",)])
def test_the_machine_is_not_reached(ground: Ground, tmp_path: Path, hosts: tuple[str, ...]) -> None:
    name = f"\0kaa-test-{os.urandom(8).hex()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as named,
    ):
        abstract.bind(name)
        abstract.listen()
        named.bind(str(tmp_path / "socket"))
        named.listen()

        async def call(puppet: Puppet) -> list[bool]:
            return [
                await puppet.can("connect", "AF_INET", server.getsockname()),
                await puppet.can("connect", "AF_INET", ["192.0.2.1", 443]),
                await puppet.can("connect", "AF_UNIX", name),
                await puppet.can("connect", "AF_UNIX", str(tmp_path / "socket")),
                await puppet.can("fetch", f"http://127.0.0.1:{server.getsockname()[1]}/"),
                await puppet.can("fetch", "http://not-permitted.example/"),
            ]

        assert _with(ground, call, needs=_EFFECTIVE, hosts=hosts) == [False] * 6


def test_a_host_that_is_not_permitted_is_known(ground: Ground) -> None:
    async def call(puppet: Puppet) -> list[str]:
        await puppet.ask("fetch", "http://not-permitted.example/")
        return [blocked.what for blocked in puppet.program.blocked_hosts()]

    assert _with(ground, call, needs=_EFFECTIVE, hosts=("example.com",)) == ["not-permitted.example:80"]


def test_programs_of_the_machine_run(ground: Ground) -> None:
    async def work(puppet: Puppet) -> tuple[object, object, object]:
        return (
            (await puppet.ask("run", "/bin/sh", "-c", "echo $0 ran"))["done"],
            (await puppet.ask("descriptors"))["done"],
            (await puppet.ask("cwd"))["done"],
        )

    ran, descriptors, cwd = _with(ground, work, access="read")

    assert (ran, descriptors, cwd) == ("/bin/sh ran\n", [0, 1, 2, 3, 4], str(ground.code))


def test_it_is_ended_at_once(ground: Ground) -> None:
    async def end(puppet: Puppet) -> int | None:
        await puppet.ask("cwd")
        puppet.program.end()
        return (await puppet.program.wait()).exit_code

    assert _with(ground, end) is None


def test_it_ends_by_itself_and_leaves_nothing(ground: Ground) -> None:
    async def end(puppet: Puppet) -> tuple[int | None, int | None]:
        await puppet.ask("write", str(ground.data / "notes"))
        puppet.hang_up()
        ending = await puppet.program.wait()
        return ending.exit_code, ending.signal

    assert _with(ground, end) == (0, None)
    assert sorted(path.name for path in ground.project.iterdir()) == ["file"]


@pytest.mark.parametrize(
    ("access", "reads", "writes"), [("none", False, False), ("read", True, False), ("write", True, True)]
)
def test_the_weaker_tier_holds_files_and_has_no_network(
    elsewhere: Path, access: ProjectAccess, reads: bool, writes: bool
) -> None:
    ground = Ground(elsewhere)
    file, data, outside = ground.project / "file", ground.data / "notes", ground.home / "planted"

    async def work(puppet: Puppet) -> tuple[list[bool], ...]:
        return (
            [await puppet.can("read", str(secret)) for secret in ground.secrets],
            [await puppet.can("read", str(file)), await puppet.can("write", str(file))],
            [await puppet.can("write", str(data)), await puppet.can("write", str(outside))],
            [await puppet.can("write", str(ground.code / "main.py")), await puppet.can("trace", os.getpid())],
            [await puppet.can("connect", "AF_INET", server.getsockname())],
            [await puppet.can("hard link", str(ground.secrets[0]), str(ground.data / "stolen"))],
        )

    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        mock.patch("kaa.workspace.sandbox.sandbox.tiers_to_try", return_value=("landlock", "none")),
    ):
        found = _with(ground, work, needs=("landlock",), access=access, hosts=("example.com",))

    assert found == ([False] * 3, [reads, writes], [True, False], [False, False], [False], [False])


def test_what_the_user_hides_is_hidden(ground: Ground) -> None:
    for name in ("vault", "open"):
        (ground.project / name).mkdir()
        (ground.project / name / "file").write_text("secret")

    async def look(puppet: Puppet) -> list[bool]:
        return [await puppet.can("read", str(ground.project / name / "file")) for name in ("vault", "open")]

    hidden = (str(ground.project / "vault"),)
    assert _with(ground, look, access="write", hidden=hidden) == [False, True]


def test_code_that_kaa_loads_is_not_written(ground: Ground) -> None:
    for name in ("kit", "other"):
        (ground.project / name).mkdir()
        (ground.project / name / "__init__.py").write_text("")

    async def plant(puppet: Puppet) -> list[bool]:
        paths = ("kit/__init__.py", "kit/planted.py", "other/__init__.py", "other/planted.py")
        return [await puppet.can("write", str(ground.project / path)) for path in paths]

    loaded = (str(ground.project / "kit"),)
    assert _with(ground, plant, access="write", loaded=loaded) == [False, False, True, True]


@pytest.mark.parametrize("name", ["on", "registries"])
def test_a_host_that_is_called_like_a_state_of_the_network_opens_nothing_else(ground: Ground, name: str) -> None:
    rights = ProgramRights(
        name="probe", code=str(ground.code), data=str(ground.data), project=str(ground.project), hosts=(name,)
    )

    network = rights.options(str(ground.home)).network

    assert not network.public
    assert [rule.host for rule in network.granted] == [name]
