"""Who is asked about hosts that are not permitted: the tool calls whose commands run.

The connections of two commands cannot be told apart. So a host is asked about by the call that began last, and the
answer holds for all that runs: a yes as long as it says, and a no until these calls end, so that programs which try
again neither ask nor wait again. A call that begins after the no asks for itself, since what it is for may deserve
another answer; but once more only, because a server in the background that tries again and again looks the same.
Exactly the hosts that a question shows are permitted; others that arrive while it is open follow in one more question.

A hostile command may name any number of hosts: a call asks few questions, with few hosts each.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Literal, Protocol, TypeAlias

from kaa.workspace.network.allow_list import GrantedAddress, NetworkRule

HostAnswer: TypeAlias = Literal["call", "session", "no"]

_GATHER_SECONDS = 0.1  # programs open several connections at once: one question is for all of them
_MAX_HOSTS = 8  # in one question, besides those that the asker adds
_MAX_QUESTIONS = 6  # of one call
_MAX_REFUSALS = 2  # by then the user has said what they think of the call
_MAX_REFUSALS_OF_HOST = 2  # while one call runs: by then they have said what they think of the host


class HostAsker(Protocol):
    """Asks the user of a call."""

    @property
    def can_ask(self) -> bool:
        """Whether an answer can be waited for; otherwise connections are refused at once."""

    def together(self, hosts: Sequence[str]) -> Sequence[str]:
        """All hosts that a question about these is about, as rules: these, and those that are used with them."""

    async def ask(self, hosts: Sequence[str], *, alone: bool) -> HostAnswer:
        """Ask about all of these hosts at once. Cancelling it withdraws the question.

        Args:
            alone: no other call runs commands that may have connected.

        Returns:
            Whether they are permitted until the call ends, for the session, or not at all.
        """

    async def ask_private(self, host: str, addresses: Sequence[str], *, alone: bool) -> HostAnswer:
        """Ask whether a host that is permitted may be reached at these addresses, none of which is public.

        Cancelling it withdraws the question. The answer is as that of `ask`.
        """


class HostQuestions:
    """What one call asks about hosts, and what was answered.

    Attributes:
        permitted_at: likewise, private addresses.
        refused: what was refused while it ran, whichever call asked; a host that was refused twice is there twice.
    """

    def __init__(self, asker: HostAsker, permitted: tuple[NetworkRule, ...] = ()) -> None:
        self._asker = asker
        self._count = 0
        self._refusals = 0
        self._shown: tuple[NetworkRule, ...] = ()
        self._next: list[NetworkRule] = []
        self._asking: asyncio.Task[None] | None = None
        self._turn = asyncio.Event()  # set when a question ends; then the next one gets its own
        self._private = asyncio.Lock()
        self._asking_private: asyncio.Future[HostAnswer] | None = None
        self.permitted = permitted
        self.permitted_at: tuple[GrantedAddress, ...] = ()
        self.refused: tuple[NetworkRule, ...] = ()

    def takes(self, rule: NetworkRule) -> bool:
        """Whether the user can be asked about a host."""
        return self.asks_about(rule) or (self.takes_more and len(self._next) < _MAX_HOSTS)

    def asks_about(self, rule: NetworkRule) -> bool:
        """Whether a question about a host is open, or about to be."""
        return covers(self._shown, rule) or rule in self._next

    @property
    def takes_more(self) -> bool:
        """Whether the user can be asked one more question."""
        return self._asker.can_ask and self._count < _MAX_QUESTIONS and self._refusals < _MAX_REFUSALS

    async def wait_for(self, rule: NetworkRule, calls: "RunningCalls") -> None:
        """Wait until the question about a host has ended: answered or withdrawn."""
        if not self.asks_about(rule):
            self._next.append(rule)
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask_all(calls))
        while self.asks_about(rule):
            await self._turn.wait()

    async def ask_private(
        self, rule: NetworkRule, addresses: Sequence[str], calls: "RunningCalls", allows: Callable[[], bool]
    ) -> None:
        """Ask about private addresses of a host, unless it was answered while another question was open."""
        async with self._private:
            if allows() or not self.takes_more or not calls.may_ask(self, rule):
                return
            self._count += 1
            asked = self._asker.ask_private(str(rule), addresses, alone=calls.are_only(self))
            self._asking_private = asking = asyncio.ensure_future(asked)
            try:
                with calls.asking():
                    await asyncio.wait({asking})
            finally:
                asking.cancel()
                await asyncio.wait({asking})
            if not asking.cancelled():
                self._take_private(asking.result(), rule, addresses, calls)

    async def settle(self) -> None:
        """Wait for the answer to a question that is open."""
        if self._asking is not None:
            await asyncio.wait({self._asking})

    async def withdraw(self) -> None:
        """End open questions without an answer."""
        if self._asking_private is not None:
            self._asking_private.cancel()
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait({self._asking})

    async def _ask_all(self, calls: "RunningCalls") -> None:
        try:
            while self._next:
                await asyncio.sleep(_GATHER_SECONDS)
                named = self._asker.together(tuple(map(str, self._next)))
                self._shown, self._next = tuple(map(NetworkRule.parse, named)), []
                self._count += 1
                with calls.asking():
                    answer = await self._asker.ask(tuple(map(str, self._shown)), alone=calls.are_only(self))
                self._take(answer, calls)
        finally:
            self._asking, self._next = None, []
            self._end_question()

    def _take(self, answer: HostAnswer, calls: "RunningCalls") -> None:
        match answer:
            case "call":
                self.permitted += self._shown
                calls.changed()
            case "session":
                calls.grant(self._shown)
            case "no":
                self._refusals += 1
                calls.refuse(self._shown)
        self._end_question()

    def _take_private(
        self, answer: HostAnswer, rule: NetworkRule, addresses: Sequence[str], calls: "RunningCalls"
    ) -> None:
        granted = tuple(GrantedAddress(rule, address) for address in addresses)
        match answer:
            case "call":
                self.permitted_at += granted
                calls.changed()
            case "session":
                calls.grant_at(granted)
            case "no":
                self._refusals += 1
                calls.refuse((rule,))

    def _end_question(self) -> None:
        self._shown = ()
        self._turn.set()
        self._turn = asyncio.Event()


class RunningCalls:
    """The calls whose commands use one network now.

    Args:
        grant_at: permits private addresses for the session.
        changed: what holds until calls end is another now.
    """

    def __init__(
        self,
        grant: Callable[[Sequence[NetworkRule]], None],
        grant_at: Callable[[Sequence[GrantedAddress]], None],
        changed: Callable[[], None],
    ) -> None:
        self._calls: list[HostQuestions] = []
        self._open = 0
        self._since = 0.0  # a question has been open without a break
        self._waited = 0.0
        self.grant = grant
        self.grant_at = grant_at
        self.changed = changed

    @property
    def permitted(self) -> tuple[NetworkRule, ...]:
        """What is permitted until the call ends that asked."""
        return tuple(rule for call in self._calls for rule in call.permitted)

    @property
    def permitted_at(self) -> tuple[GrantedAddress, ...]:
        """Private addresses that are permitted until the call ends that asked."""
        return tuple(one for call in self._calls for one in call.permitted_at)

    @property
    def waited(self) -> float:
        """Return the seconds so far in which a question was open, whichever call asked it.

        They do not count for the time limits of commands: any of those that run may wait for the answer.
        """
        return self._waited + (time.monotonic() - self._since if self._open else 0.0)

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """Meanwhile a question is open."""
        if not self._open:
            self._since = time.monotonic()
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self._waited += time.monotonic() - self._since

    def permits(self, rule: NetworkRule) -> bool:
        """Whether a host is permitted until a call ends."""
        return covers(self.permitted, rule)

    def has_refused(self, rule: NetworkRule) -> bool:
        """Whether a user said no to a host while one of the calls ran that run now."""
        return any(covers(call.refused, rule) for call in self._calls)

    def refuse(self, rules: Sequence[NetworkRule]) -> None:
        """A user said no to hosts: that holds for all calls that run now, whichever connected."""
        for call in dict.fromkeys(self._calls):
            call.refused += tuple(rules)

    def may_ask(self, call: HostQuestions, rule: NetworkRule) -> bool:
        """Whether a call may ask about a host: the user has not refused it since the call began, or often enough."""
        refusals = max(sum(one.covers(rule) for one in other.refused) for other in self._calls)
        return not covers(call.refused, rule) and refusals < _MAX_REFUSALS_OF_HOST

    def are_only(self, call: HostQuestions) -> bool:
        return all(one is call for one in self._calls)

    @contextlib.asynccontextmanager
    async def joined(self, call: HostQuestions) -> AsyncIterator[None]:
        """Meanwhile commands of a call run."""
        self._calls.append(call)
        self.changed()
        try:
            yield
        finally:
            self._calls.remove(call)
            if call not in self._calls:
                await call.withdraw()
                self.changed()

    async def wait_for(self, rule: NetworkRule, allows: Callable[[], bool]) -> None:
        """Hold a connection until its host is permitted, refused, or nobody can be asked about it."""
        while not allows():
            call = self._newest(lambda one: one.asks_about(rule)) or self._newest(
                lambda one: one.takes(rule) and self.may_ask(one, rule)
            )
            if call is None:
                return
            await call.wait_for(rule, self)

    async def wait_for_private(self, rule: NetworkRule, addresses: Sequence[str], allows: Callable[[], bool]) -> None:
        """Hold a connection whose host has only private addresses until there is an answer, if one is to be had."""
        if not allows():
            call = self._newest(lambda one: one.takes_more and self.may_ask(one, rule))
            if call is not None:
                await call.ask_private(rule, addresses, self, allows)

    def _newest(self, fits: Callable[[HostQuestions], bool]) -> HostQuestions | None:
        """The call that began last: a server in the background has connected before, or never will."""
        return next((one for one in reversed(self._calls) if fits(one)), None)


def covers(rules: Iterable[NetworkRule], rule: NetworkRule) -> bool:
    """Whether one of the rules names all that another one names."""
    return any(one.covers(rule) for one in rules)
