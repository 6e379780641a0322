"""Services of the user's machine: which connections of commands are reported as blocked, and what a yes opens."""

import asyncio
import contextlib
import os
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from kaa.hands.confinement.failed_connections import FailedConnection, FailureReporter, parse_reports
from kaa.workspace.blocked import Blocked
from kaa.workspace.commands import OwnStreams
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.network.host_services import ServiceError
from kaa.workspace.protocol import BackgroundProcess, CommandRequest, CommandResult
from kaa.workspace.sandbox.options import SandboxChange, SandboxOptions
from kaa.workspace.sandbox.outside_services import blocked_connections, missed_services, traced_outside
from tests.support.elsewhere import folder_elsewhere
from tests.support.patience import HANG_SECONDS

_TCP = "import socket; print(socket.create_connection(('127.0.0.1', {}), 9).recv(9))"
_UNIX = "import socket; s = socket.socket(socket.AF_UNIX); s.connect({!r}); print(s.recv(9))"


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_elsewhere() as folder:
        (folder / "project").mkdir()
        yield folder


@pytest.fixture
def database() -> Iterator[int]:
    """A service of the machine that greets; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener, _greeting(listener):
        yield listener.getsockname()[1]


@pytest.fixture
def daemon(folder: Path) -> Iterator[Path]:
    """A daemon of the machine that greets; its socket."""
    path = folder / "daemon.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        with _greeting(listener):
            yield path


@contextlib.contextmanager
def _greeting(listener: socket.socket) -> Iterator[None]:
    def greet() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.sendall(b"hello")

    thread = threading.Thread(target=greet)
    thread.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def play(
    folder: Path,
    scenario: Callable[[LocalWorkspace], Awaitable[None]],
    *,
    ports: bool = False,
    private: tuple[str, ...] = (),
) -> list[str]:
    """What the user is told meanwhile."""
    told: list[str] = []

    async def whole() -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        options = SandboxOptions(ports="open" if ports else "closed", private=private)
        workspace = LocalWorkspace.start(str(folder / "project"), env=environment, sandbox=options)
        try:
            status = await workspace.sandbox.status()
            if status.features.get("unix sockets") != "only of the sandbox":
                pytest.skip("this machine cannot have the connect broker")
            workspace.tell(told.append)
            await scenario(workspace)
        finally:
            await workspace.close()

    asyncio.run(whole())
    return told


async def python(workspace: LocalWorkspace, code: str, after: str = "") -> CommandResult:
    return await workspace.run(
        CommandRequest(["sh", "-c", f'python3 -I -S -c "$0" 2>/dev/null{after}', code], timeout=HANG_SECONDS)
    )


async def until_listening(workspace: LocalWorkspace, process: BackgroundProcess) -> None:
    while not workspace.processes.output(process.id).data:
        assert (await workspace.processes.wait(process.id, 0.02)).state == "running"


def test_a_service_of_the_machine_is_reported_although_the_program_says_nothing(folder: Path, database: int) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        failed = await python(workspace, _TCP.format(database))
        swallowed = await python(workspace, _TCP.format(database), "; true")

        assert failed.blocked == (Blocked("port", str(database)),)
        assert swallowed.blocked == ()
        assert swallowed.missed == (Blocked("port", str(database)),)

    play(folder, scenario)


def test_a_client_that_does_not_wait_is_reported_too(folder: Path, database: int) -> None:
    code = f"import asyncio; asyncio.run(asyncio.open_connection('127.0.0.1', {database}))"

    async def scenario(workspace: LocalWorkspace) -> None:
        assert (await python(workspace, code)).blocked == (Blocked("port", str(database)),)

    play(folder, scenario)


def test_a_port_on_which_the_machine_does_not_listen_is_not_reported(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    async def scenario(workspace: LocalWorkspace) -> None:
        assert (await python(workspace, _TCP.format(port))).blocked == ()

    play(folder, scenario)


def test_a_connection_past_the_proxy_is_reported(folder: Path) -> None:
    code = "import socket; socket.create_connection(('192.0.2.1', 443))"

    async def scenario(workspace: LocalWorkspace) -> None:
        assert (await python(workspace, code)).blocked == (Blocked("direct", "192.0.2.1:443"),)

    play(folder, scenario)


def test_a_socket_of_the_machine_is_reported_by_its_path(folder: Path, daemon: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        absolute = await python(workspace, _UNIX.format(str(daemon)))
        relative = await python(workspace, _UNIX.format("../daemon.sock"))
        absent = await python(workspace, _UNIX.format("/nowhere/at.all"))

        assert absolute.blocked == relative.blocked == (Blocked("socket", str(daemon)),)
        assert absent.blocked == ()

    play(folder, scenario)


def test_a_command_of_the_user_s_in_the_sandbox_has_its_report_too(folder: Path, daemon: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        with open(os.devnull, "r+b") as null:
            streams = OwnStreams(null.fileno(), null.fileno(), null.fileno())
            result = await workspace.attach(CommandRequest(["python3", "-c", _UNIX.format(str(daemon))]), streams)

        assert result.blocked == (Blocked("socket", str(daemon)),)

    play(folder, scenario)


def test_a_report_belongs_to_the_command_that_connected(folder: Path, database: int, daemon: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        results = await asyncio.gather(
            python(workspace, _TCP.format(database)),
            python(workspace, _UNIX.format(str(daemon))),
            python(workspace, "pass"),
        )
        later = await python(workspace, "pass")

        assert [result.blocked for result in (*results, later)] == [
            (Blocked("port", str(database)),),
            (Blocked("socket", str(daemon)),),
            (),
            (),
        ]

    play(folder, scenario)


def test_a_flood_of_connections_loses_only_the_reports_of_the_command_that_floods(folder: Path, database: int) -> None:
    flood = "import socket\nfor port in range(1, 3000):\n  socket.socket().connect_ex(('127.0.0.1', port))"

    async def scenario(workspace: LocalWorkspace) -> None:
        flooding, other = await asyncio.gather(python(workspace, flood), python(workspace, _TCP.format(database)))

        assert flooding.exit_code == 0
        assert len(flooding.missed) <= 5
        assert other.blocked == (Blocked("port", str(database)),)
        assert (await python(workspace, _TCP.format(database))).blocked == (Blocked("port", str(database)),)

    play(folder, scenario)


def test_commands_cannot_write_reports_of_their_own(folder: Path, daemon: Path) -> None:
    """Whatever descriptors a command and its slot have, none leads to the pipe of reports."""
    code = (
        "import os\n"
        "for process in filter(str.isdigit, os.listdir('/proc')):\n"
        "  for number in range(256):\n"
        "    try:\n"
        "      pipe = os.open(f'/proc/{process}/fd/{number}', os.O_WRONLY | os.O_NONBLOCK)\n"
        f'      os.write(pipe, b\'["{daemon}", "", 0]\\n\')\n'
        "    except OSError: pass\n"
    )

    async def scenario(workspace: LocalWorkspace) -> None:
        result = await python(workspace, code)

        assert (result.blocked, result.missed) == ((), ())

    play(folder, scenario)


def test_reports_are_bounded_and_carry_hostile_names() -> None:
    hostile = '/a\n["/forged", "", 0]\n\x1b[2J\udcff'
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    reporter = FailureReporter(writing)
    try:
        reporter.of_path("/" + "x" * 5000)
        reporter.of_path(hostile)
        assert parse_reports(os.read(reading, 65536)) == (FailedConnection(hostile),)
        for number in range(10_000):
            reporter.of_path(f"/{number}")
        assert len(parse_reports(os.read(reading, 65536))) == 64
    finally:
        os.close(reading)
        os.close(writing)


def test_sockets_for_looking_up_names_are_not_reported() -> None:
    assert blocked_connections([FailedConnection("/run/nscd/socket"), FailedConnection("/proc/1/root/x")], ()) == ()


def test_the_port_of_a_forward_is_no_service(database: int) -> None:
    failed = [FailedConnection(address="127.0.0.1", port=database)]

    assert blocked_connections(failed, {database}) == ()
    assert blocked_connections(failed, ()) == (Blocked("port", str(database)),)


@pytest.mark.parametrize(
    ("said", "variable"),
    [
        ("Error: cannot open display: \n", "DISPLAY"),
        ("Could not open a connection to your authentication agent.\n", "SSH_AUTH_SOCK"),
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock.\n", "DOCKER_HOST"),
    ],
)
def test_a_program_that_misses_a_variable_names_its_service(
    said: str, variable: str, database: int, daemon: Path
) -> None:
    display = f"localhost:{database - 6000}.0"
    value = {"DISPLAY": display, "DOCKER_HOST": f"unix://{daemon}"}.get(variable, str(daemon))
    service = Blocked("port", str(database)) if variable == "DISPLAY" else Blocked("socket", str(daemon))

    assert missed_services(said, {variable: value}) == (service,)
    assert missed_services(said, {}) == ()
    assert missed_services("all well", {variable: value}) == ()


def test_a_process_outside_that_a_debugger_cannot_attach_to_is_named() -> None:
    me = os.getpid()

    assert traced_outside(f"strace: attach: ptrace(PTRACE_SEIZE, {me}): No such process", "strace") == (
        Blocked("process", str(me)),
    )
    assert traced_outside("ptrace: No such process.", f"gdb -p {me}") == (Blocked("process", str(me)),)
    assert traced_outside("kill: No such process", f"kill -p {me}") == ()
    assert traced_outside("ptrace: Operation not permitted.", "gdb -p 999999999") == ()


def test_an_admitted_port_leads_to_this_service_only_until_it_is_closed(folder: Path, database: int) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        with socket.create_server(("127.0.0.1", 0)) as other:
            other_port = other.getsockname()[1]
            await workspace.sandbox.admit(str(database))

            reached = await python(workspace, _TCP.format(database))
            refused = await python(workspace, _TCP.format(other_port))
            await workspace.sandbox.ports.close(str(database))
            closed = await python(workspace, _TCP.format(database))

        assert reached.tail == b"b'hello'\n"
        assert refused.blocked == (Blocked("port", str(other_port)),)
        assert closed.blocked == (Blocked("port", str(database)),)

    play(folder, scenario)


def test_an_admitted_service_survives_a_change_of_the_sandbox(folder: Path, database: int, daemon: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        await workspace.sandbox.admit(str(database))
        await workspace.sandbox.admit(str(daemon))

        await workspace.change(SandboxChange(git_writable=True))

        assert (await python(workspace, _TCP.format(database))).tail == b"b'hello'\n"
        assert (await python(workspace, _UNIX.format(str(daemon)))).tail == b"b'hello'\n"

    play(folder, scenario)


def test_an_admitted_socket_is_reached_by_its_path_only_until_it_is_closed(folder: Path, daemon: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        assert await workspace.sandbox.admit(str(daemon)) == str(daemon)

        reached = await python(workspace, _UNIX.format("../daemon.sock"))
        await workspace.sandbox.ports.close(str(daemon))
        closed = await python(workspace, _UNIX.format(str(daemon)))

        assert reached.tail == b"b'hello'\n"
        assert closed.blocked == (Blocked("socket", str(daemon)),)

    play(folder, scenario)


def test_an_admitted_socket_that_was_replaced_leads_nowhere_else(folder: Path, daemon: Path) -> None:
    with socket.socket(socket.AF_UNIX) as harmful:
        harmful.bind(str(folder / "harmful.sock"))
        harmful.listen()
        harmful.setblocking(False)

        async def scenario(workspace: LocalWorkspace) -> None:
            await workspace.sandbox.admit(str(daemon))
            daemon.unlink()
            daemon.symlink_to(folder / "harmful.sock")

            await python(workspace, _UNIX.format(str(daemon)))

            with pytest.raises(BlockingIOError):
                harmful.accept()

        play(folder, scenario)


def test_a_socket_that_commands_could_exchange_is_not_admitted(folder: Path, daemon: Path) -> None:
    inside = folder / "project" / "daemon.sock"
    os.link(daemon, inside)

    async def scenario(workspace: LocalWorkspace) -> None:
        with pytest.raises(ServiceError, match="commands can write"):
            await workspace.sandbox.admit(str(inside))
        for wrong in ("0", "65536", "-1", "relative.sock", "", "/nowhere/at.all", str(folder)):
            with pytest.raises(ServiceError):
                await workspace.sandbox.admit(wrong)

    play(folder, scenario)


def test_a_socket_of_kaa_is_neither_reached_nor_asked_about_nor_admitted(folder: Path, daemon: Path) -> None:
    own = folder / "own" / "run" / "kaa.sock"
    own.parent.mkdir(parents=True)
    os.link(daemon, own)

    async def scenario(workspace: LocalWorkspace) -> None:
        tried = await python(workspace, _UNIX.format(str(own)))
        with pytest.raises(ServiceError, match="kaa itself"):
            await workspace.sandbox.admit(str(own))

        assert b"hello" not in tried.tail
        assert (tried.blocked, tried.missed) == ((), ())

    play(folder, scenario, private=(str(folder / "own"),))


def test_a_link_in_the_project_is_admitted_as_what_it_leads_to(folder: Path, daemon: Path) -> None:
    link = folder / "project" / "link.sock"
    link.symlink_to(daemon)

    async def scenario(workspace: LocalWorkspace) -> None:
        assert await workspace.sandbox.admit(str(link)) == str(daemon)

    play(folder, scenario)


_SERVER = (
    "import socket; s = socket.create_server(('127.0.0.1', {})); print('listening', flush=True);\n"
    "while True: c, _ = s.accept(); c.sendall(b'inside'); c.close()"
)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_a_server_is_told_of_once_and_opened_by_the_user(folder: Path) -> None:
    port = _free_port()

    async def scenario(workspace: LocalWorkspace) -> None:
        process = await workspace.run_in_background(CommandRequest(["python3", "-c", _SERVER.format(port)]))
        await until_listening(workspace, process)
        await python(workspace, "pass")
        await python(workspace, "pass")

        assert (await workspace.sandbox.ports.report()).listening == (port,)
        forward = await workspace.sandbox.ports.forwards.open(port)
        assert forward.host_port == port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b"inside"
        writer.close()
        assert await workspace.sandbox.ports.close(str(port))
        assert not await workspace.sandbox.ports.close(str(port))

    told = play(folder, scenario)

    assert told == [f"A command listens on port {port} of the sandbox: /forward {port} opens it on this machine."]


def test_servers_are_opened_on_loopback_without_a_question_if_the_user_wants_that(folder: Path) -> None:
    port = _free_port()

    async def scenario(workspace: LocalWorkspace) -> None:
        process = await workspace.run_in_background(CommandRequest(["python3", "-c", _SERVER.format(port)]))
        await until_listening(workspace, process)
        await python(workspace, "pass")

        assert workspace.sandbox.open_ports == (port,)
        assert workspace.sandbox.served_ports == (port,)
        assert [forward.url for forward in workspace.sandbox.ports.forwards.active] == [f"http://127.0.0.1:{port}"]

        await workspace.processes.stop(process.id)

        assert workspace.sandbox.open_ports == (port,)
        assert not workspace.sandbox.served_ports

    told = play(folder, scenario, ports=True)

    assert told == [f"Port {port} of the sandbox is open at http://127.0.0.1:{port} (/ports close {port} closes it)."]


def test_of_many_servers_some_are_told_of_and_the_others_counted(folder: Path) -> None:
    many = (
        "import socket, time; all = [socket.socket() for _ in range(30)]\n"
        "for one in all: one.bind(('127.0.0.1', 0))\n"
        "for one in all: one.listen()\n"
        "print('listening', flush=True); time.sleep(1000)"
    )

    async def scenario(workspace: LocalWorkspace) -> None:
        process = await workspace.run_in_background(CommandRequest(["python3", "-c", many]))
        await until_listening(workspace, process)
        await python(workspace, "pass")

        assert len((await workspace.sandbox.ports.report()).listening) == 30
        while len(workspace.sandbox.ports.forwards.active) < 5:  # kaa opens them beside the command
            await asyncio.sleep(0.01)

    told = play(folder, scenario, ports=True)

    # kaa may look when some of them listen, and again when all do.
    counted = sum(int(more[1]) for text in told if (more := re.match(r"Commands listen on (\d+) more ports", text)))
    introduced = sum(text.startswith("Port ") for text in told)
    assert counted > 0
    assert introduced + counted == 30


def test_a_port_that_is_taken_is_opened_under_another_number(folder: Path, database: int) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        process = await workspace.run_in_background(CommandRequest(["python3", "-c", _SERVER.format(database)]))
        await until_listening(workspace, process)

        forward = await workspace.sandbox.ports.forwards.open(database)

        assert forward.host_port not in (0, database)

    play(folder, scenario)
