"""Connections that are held while a user is asked, and what commands could try with them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest

from kaa.workspace.network.allow_list import GrantedAddress, NetworkRule, NetworkState
from kaa.workspace.network.asking import HostAnswer, HostQuestions, RunningCalls
from kaa.workspace.network.limits import ProxyLimits
from tests.support.patience import HANG_SECONDS
from tests.workspace.network.world import Peer, Recorder, World, echo, world

GET = b"GET http://%s/ HTTP/1.1\r\n\r\n"


class User:
    """Answers questions about hosts when the test says so.

    Attributes:
        asked: the hosts of each question.
        used_with: the hosts that a question is about besides one.
        withdrawn: how many questions were withdrawn.
    """

    def __init__(self, *answers: HostAnswer, can_ask: bool = True) -> None:
        self.can_ask = can_ask
        self.asked: list[tuple[str, ...]] = []
        self.alone: list[bool] = []
        self.withdrawn = 0
        self.opened = asyncio.Event()
        self.may_answer = asyncio.Event()
        if answers:
            self.may_answer.set()
        self.answers = list(answers)
        self.used_with: dict[str, Sequence[str]] = {}

    def together(self, hosts: Sequence[str]) -> Sequence[str]:
        return tuple(dict.fromkeys(one for host in hosts for one in (host, *self.used_with.get(host, ()))))

    async def ask(self, hosts: Sequence[str], *, alone: bool) -> HostAnswer:
        self.asked.append(tuple(hosts))
        self.alone.append(alone)
        self.opened.set()
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise
        return self.answers.pop(0)

    async def ask_private(self, host: str, addresses: Sequence[str], *, alone: bool) -> HostAnswer:
        return await self.ask((host, *addresses), alone=alone)

    def answer(self, *answers: HostAnswer) -> None:
        self.answers += answers
        self.may_answer.set()

    async def is_asked(self) -> None:
        async with asyncio.timeout(HANG_SECONDS):
            await self.opened.wait()


class Place:
    """A world whose gate asks the calls that run."""

    def __init__(self, here: World, calls: RunningCalls) -> None:
        self.here = here
        self.calls = calls

    @contextlib.asynccontextmanager
    async def call(self, user: User, *permitted: str) -> AsyncIterator[None]:
        async with self.calls.joined(HostQuestions(user, tuple(map(NetworkRule.parse, permitted)))):
            yield

    async def status(self, host: str) -> int:
        """What a request for a host gets."""
        return int((await self.here.ask(GET % host.encode())).split()[1])

    def blocked(self) -> list[tuple[str, bool]]:
        return [(str(one.destination), one.waited) for one in self.here.gate.blocked_since(0)]


def play(scenario: Callable[[Place], Awaitable[None]], allowed: str = "off", limits: ProxyLimits | None = None) -> None:
    async def whole() -> None:
        state = NetworkState.parse(allowed)

        def grant(rules: Sequence[NetworkRule]) -> None:
            nonlocal state
            state = state.granting(*rules)
            apply()

        def grant_at(addresses: Sequence[GrantedAddress]) -> None:
            nonlocal state
            state = state.granting_at(*addresses)
            apply()

        def apply() -> None:
            here.gate.set_state(state.granting(*calls.permitted).granting_at(*calls.permitted_at))

        calls = RunningCalls(grant, grant_at, apply)
        async with world(allowed, calls=calls, limits=limits) as here:
            async with asyncio.timeout(HANG_SECONDS):
                await scenario(Place(here, calls))

    asyncio.run(whole())


class TestAnswers:
    def test_the_time_in_which_questions_were_open_is_known(self) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("example.com", Recorder())
            user = User()
            async with place.call(user):
                asking = asyncio.create_task(place.status("example.com"))
                await user.is_asked()
                first = place.calls.waited
                while (second := place.calls.waited) <= first:
                    await asyncio.sleep(0)

                user.answer("call")
                assert await asking == 200
                third = place.calls.waited

                assert third >= second > 0
                assert place.calls.waited == third

        play(scenario)

    def test_a_connection_waits_for_the_answer_and_goes_on(self) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("example.com", Recorder())
            user = User()
            async with place.call(user):
                asking = asyncio.create_task(place.status("example.com"))
                await user.is_asked()
                assert place.here.internet.resolved == []

                user.answer("call")

                assert await asking == 200
            assert user.asked == [("example.com",)]
            assert place.blocked() == []

        play(scenario)

    def test_a_yes_for_the_call_ends_with_it(self) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("example.com", echo, port=443)
            async with place.call(User("call")):
                client = await place.here.tunnel("example.com:443")
                await client.send(b"hello")
                assert await client.receive(5) == b"hello"

            assert await client.is_cut()
            assert await place.status("example.com") == 403

        play(scenario)

    def test_a_yes_for_the_session_stays(self) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("example.com", Recorder())
            async with place.call(User("session")):
                assert await place.status("example.com") == 200

            assert await place.status("example.com") == 200

        play(scenario)

    def test_a_no_is_not_asked_again_while_the_call_runs(self) -> None:
        async def scenario(place: Place) -> None:
            user, beside = User("no"), User("no")
            async with place.call(beside), place.call(user):
                assert [await place.status("example.com") for _ in range(3)] == [403, 403, 403]
            assert (user.asked, beside.asked) == ([("example.com",)], [])
            assert place.blocked() == [("example.com:80", False)]

            again = User("call")
            async with place.call(again):
                await place.status("example.com")
            assert again.asked == [("example.com",)]

        play(scenario)

    def test_a_no_for_a_server_does_not_answer_for_a_later_call(self) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("example.com", Recorder())
            server, command = User("no"), User("call")
            async with place.call(server):
                assert await place.status("example.com") == 403
                async with place.call(command):
                    assert await place.status("example.com") == 200
                assert await place.status("example.com") == 403
            assert (server.asked, command.asked) == ([("example.com",)], [("example.com",)])

        play(scenario)

    def test_a_host_that_was_refused_twice_is_not_asked_about_while_the_first_call_runs(self) -> None:
        async def scenario(place: Place) -> None:
            server, later = User("no"), [User("no"), User("call"), User("call")]
            async with place.call(server):
                assert await place.status("example.com") == 403
                for user in later:  # the server tries again and again, which looks like these
                    async with place.call(user):
                        assert await place.status("example.com") == 403
            assert [len(user.asked) for user in later] == [1, 0, 0]
            assert len(server.asked) == 1

        play(scenario)

    def test_what_was_permitted_before_the_call_is_not_asked(self) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("example.com", Recorder())
            async with place.call(User(), "example.com"):
                assert await place.status("example.com") == 200
            assert await place.status("example.com") == 403

        play(scenario)

    @pytest.mark.parametrize("user", [None, User(can_ask=False)])
    def test_without_a_user_it_is_refused_at_once(self, user: User | None) -> None:
        async def scenario(place: Place) -> None:
            if user is None:
                assert await place.status("example.com") == 403
                return
            async with place.call(user):
                assert await place.status("example.com") == 403
            assert user.asked == []

        play(scenario)


class TestPrivateAddresses:
    def test_a_second_question_shows_the_address_and_its_yes_works(self) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("git.example", Recorder(), address="10.1.2.3")
            user = User("call", "session")
            async with place.call(user):
                assert await place.status("git.example") == 200
            assert user.asked == [("git.example",), ("git.example", "10.1.2.3")]
            assert place.blocked() == []

        play(scenario)

    def test_a_yes_is_for_the_address_that_was_shown(self) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("git.example", Recorder(), address="10.1.2.3")
            await place.here.serve("other.example", Recorder(), address="10.1.2.4")
            user = User("session", "session", "no")
            async with place.call(user):
                assert await place.status("git.example") == 200
                place.here.internet.names["git.example"] = ("10.1.2.4",)

                assert await place.status("git.example") == 403
            assert user.asked[2:] == [("git.example", "10.1.2.4")]

        play(scenario)

    @pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254"])
    def test_nobody_is_asked_about_this_machine_and_the_local_link(self, address: str) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("git.example", Recorder(), address=address)
            user = User("session")
            async with place.call(user):
                assert await place.status("git.example") == 403
            assert user.asked == [("git.example",)]
            assert [one.rule for one in place.here.gate.blocked_since(0)] == [None]

        play(scenario)

    def test_a_no_is_not_asked_again_while_the_call_runs(self) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("git.example", Recorder(), address="10.1.2.3")
            user = User("no")
            async with place.call(user):
                assert [await place.status("git.example") for _ in range(3)] == [403, 403, 403]
            assert len(user.asked) == 1
            assert place.blocked() == [("git.example:80", False)]

        play(scenario, allowed="on")

    def test_a_no_for_a_server_does_not_answer_for_a_later_call(self) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("git.example", Recorder(), address="10.1.2.3")
            async with place.call(User("no")):
                assert await place.status("git.example") == 403
                async with place.call(User("call")):
                    assert await place.status("git.example") == 200

        play(scenario, allowed="on")

    def test_connections_that_come_together_share_one_question(self) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("git.example", Recorder(), address="10.1.2.3")
            user = User()
            async with place.call(user):
                asking = [asyncio.create_task(place.status("git.example")) for _ in range(3)]
                await user.is_asked()

                user.answer("call")

                assert [await one for one in asking] == [200, 200, 200]
            assert len(user.asked) == 1

        play(scenario, allowed="on")

    def test_the_end_of_the_call_withdraws_the_question(self) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("git.example", Recorder(), address="10.1.2.3")
            user = User()
            async with place.call(user):
                asking = asyncio.create_task(place.status("git.example"))
                await user.is_asked()

            assert await asking == 403
            assert user.withdrawn == 1
            assert not user.answers

        play(scenario, allowed="on")

    def test_a_public_address_beside_it_is_taken_without_a_question(self) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("git.example", Recorder())
            place.here.internet.names["git.example"] = ("10.1.2.3", *place.here.internet.names["git.example"])
            user = User()
            async with place.call(user):
                assert await place.status("git.example") == 200
            assert user.asked == []

        play(scenario, allowed="on")


class TestOneQuestion:
    def test_a_host_brings_those_that_the_user_is_asked_about_together_with_it(self) -> None:
        async def scenario(place: Place) -> None:
            for host in ("a.example", "b.example"):
                await place.here.serve(host, Recorder())
            user = User("call")
            user.used_with["a.example"] = ("b.example",)
            async with place.call(user):
                assert [await place.status(host) for host in ("a.example", "b.example")] == [200, 200]
            assert user.asked == [("a.example", "b.example")]

        play(scenario)

    def test_hosts_that_arrive_together_share_it_and_later_ones_follow_in_one(self) -> None:
        async def scenario(place: Place) -> None:
            hosts = ["a.example", "b.example", "c.example", "d.example"]
            for host in hosts:
                await place.here.serve(host, Recorder())
            user = User()
            async with place.call(user):
                first = [asyncio.create_task(place.status(host)) for host in hosts[:2]]
                await user.is_asked()
                joining = asyncio.create_task(place.status("a.example"))
                later = [asyncio.create_task(place.status(host)) for host in hosts[2:]]
                while place.here.gate.mark() < 5:  # all are held
                    await asyncio.sleep(0.01)

                user.answer("call", "no")

                assert [await one for one in (*first, joining)] == [200, 200, 200]
                assert [await one for one in later] == [403, 403]
            assert [sorted(hosts) for hosts in user.asked] == [["a.example", "b.example"], ["c.example", "d.example"]]

        play(scenario)

    def test_a_yes_is_for_the_port_that_was_shown(self) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("example.com", Recorder(), port=8080)
            user = User("session", "no")
            async with place.call(user):
                assert await place.status("example.com:8080") == 200
                assert await place.status("example.com") == 403
            assert user.asked == [("example.com:8080",), ("example.com",)]

        play(scenario)

    def test_of_two_calls_the_one_is_asked_about_that_began_last_and_not_as_the_only_one(self) -> None:
        async def scenario(place: Place) -> None:
            server, command = User("no"), User("no")
            async with place.call(server), place.call(command):
                await place.status("example.com")
            async with place.call(server):
                await place.status("example.com")
            assert (command.alone, server.alone) == ([False], [True])

        play(scenario)


class TestEnds:
    def test_a_call_that_ends_withdraws_its_question_and_another_one_asks(self) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("example.com", Recorder())
            first, second = User(), User("call")
            ending = contextlib.AsyncExitStack()
            async with place.call(second):
                await ending.enter_async_context(place.call(first))
                asking = asyncio.create_task(place.status("example.com"))
                await first.is_asked()
                await ending.aclose()
                assert await asking == 200
            assert (first.withdrawn, second.asked) == (1, [("example.com",)])

        play(scenario)

    def test_a_call_that_ends_breaks_what_it_holds(self) -> None:
        async def scenario(place: Place) -> None:
            user = User()
            async with place.call(user):
                asking = asyncio.create_task(place.status("example.com"))
                await user.is_asked()
            assert await asking == 403
            assert user.withdrawn == 1
            assert place.here.internet.resolved == []

        play(scenario)

    def test_a_program_that_does_not_wait_is_known(self) -> None:
        async def scenario(place: Place) -> None:
            user = User()
            async with place.call(user):
                client = await place.here.client()
                await client.send(b"CONNECT example.com:443 HTTP/1.1\r\n\r\n")
                await user.is_asked()
                await client.close()
                while place.here.gate.held:
                    await asyncio.sleep(0.01)
                user.answer("session")
                while not place.here.gate.state.granted:
                    await asyncio.sleep(0.01)
            assert place.blocked() == [("example.com:443", True)]

            await place.here.serve("example.com", echo, port=443)
            await place.here.tunnel("example.com:443")  # it tries again
            assert place.blocked() == [("example.com:443", True)]

        play(scenario)


class TestAttacks:
    @pytest.mark.parametrize(
        "host",
        ["localhost", "127.0.0.1", "[::1]", "169.254.169.254", "metadata.google.internal", "10.0.0.5", "192.168.1.1"],
    )
    def test_what_is_not_public_is_never_asked_about(self, host: str) -> None:
        async def scenario(place: Place) -> None:
            user = User()
            async with place.call(user):
                assert await place.status(host) == 403
            assert user.asked == []

        play(scenario)

    @pytest.mark.parametrize("address", ["10.0.0.5", "127.0.0.1", "169.254.169.254", "fd00::1"])
    @pytest.mark.parametrize("answer", ["call", "session"])
    def test_a_name_that_is_pointed_inside_while_it_is_held_needs_another_yes(
        self, address: str, answer: HostAnswer
    ) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("rebind.example", Recorder())
            await place.here.serve("inside.example", Recorder(), address=address)
            user = User()
            async with place.call(user):
                asking = asyncio.create_task(place.status("rebind.example"))
                await user.is_asked()
                place.here.internet.names["rebind.example"] = (address,)

                user.answer(answer, "no")

                assert await asking == 403
            assert place.here.internet.connected == []

        play(scenario)

    def test_names_carry_no_data_out_before_a_yes(self) -> None:
        async def scenario(place: Place) -> None:
            secret = "a" * 60 + "." + "b" * 60 + ".evil.example"
            user = User("no")
            async with place.call(user):
                assert await place.status(secret) == 403
            assert user.asked == [(secret,)]  # in full
            assert place.here.internet.resolved == []

        play(scenario)

    def test_a_flood_of_names_is_few_questions(self) -> None:
        async def scenario(place: Place) -> None:
            answers: list[HostAnswer] = ["no"] * 50
            user = User(*answers)
            async with place.call(user):
                wave = [asyncio.create_task(place.status(f"n{number}.evil.example")) for number in range(60)]
                assert set(await asyncio.gather(*wave)) == {403}
                for number in range(20):
                    assert await place.status(f"later{number}.evil.example") == 403
            assert len(user.asked) <= 2
            assert all(len(hosts) <= 8 for hosts in user.asked)

        play(scenario)

    def test_yes_to_each_does_not_open_the_door_to_many_questions(self) -> None:
        async def scenario(place: Place) -> None:
            answers: list[HostAnswer] = ["call"] * 50
            user = User(*answers)
            async with place.call(user):
                for number in range(20):
                    await place.status(f"n{number}.evil.example")
            assert len(user.asked) == 6

        play(scenario)

    def test_held_connections_leave_room_for_others(self) -> None:
        async def scenario(place: Place) -> None:
            await place.here.serve("example.com", Recorder())
            user = User()
            async with place.call(user):
                held: list[Peer] = []
                for _ in range(2):
                    held.append(await place.here.client())
                    await held[-1].send(GET % b"other.example")
                await user.is_asked()
                while place.here.gate.held < 2:
                    await asyncio.sleep(0.01)

                assert await place.status("third.example") == 403
                assert await place.status("example.com") == 200

        play(scenario, "example.com", ProxyLimits(connections=3, held=2))
