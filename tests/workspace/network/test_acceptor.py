import asyncio
import os
import resource
import socket
from typing import Any

from kaa.workspace.network.acceptor import Acceptor


async def _greet(connection: socket.socket) -> None:
    await asyncio.get_running_loop().sock_sendall(connection, b"hello")


def test_connections_wait_while_there_are_no_descriptors() -> None:
    async def scenario() -> None:
        acceptor = Acceptor(_greet, 10)
        listener = socket.create_server(("127.0.0.1", 0))
        address = listener.getsockname()
        acceptor.attach(listener)
        with socket.create_connection(address) as client:
            client.setblocking(False)
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (_first_free_descriptor(), hard))
            try:
                for _ in range(10):
                    await asyncio.sleep(0.01)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

            assert await asyncio.get_running_loop().sock_recv(client, 5) == b"hello"
        await acceptor.close()

    asyncio.run(scenario())


def test_a_defect_is_reported_and_harms_no_other_connection() -> None:
    async def scenario() -> None:
        reported: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        served = 0

        async def fail_once(connection: socket.socket) -> None:
            nonlocal served
            served += 1
            if served == 1:
                raise RuntimeError("a defect")
            await _greet(connection)

        acceptor = Acceptor(fail_once, 10)
        listener = socket.create_server(("127.0.0.1", 0))
        address = listener.getsockname()
        acceptor.attach(listener)

        answers = [await _ask(address), await _ask(address)]

        assert answers == [b"", b"hello"]
        assert [str(context["exception"]) for context in reported] == ["a defect"]
        await acceptor.close()

    asyncio.run(scenario())


async def _ask(address: tuple[str, int]) -> bytes:
    reader, writer = await asyncio.open_connection(*address)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


def _first_free_descriptor() -> int:
    descriptor = os.open("/dev/null", os.O_RDONLY)
    os.close(descriptor)
    return descriptor
