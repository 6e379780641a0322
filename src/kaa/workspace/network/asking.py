"""Who is asked about hosts that are not permitted: the tool calls whose commands run.

The connections of two commands cannot be told apart. So a host is asked about by the call that began first, and the
answer holds for all that runs: a no until that call ends, so that programs which try again neither ask nor wait again,
and a yes as long as the answer says. Exactly the hosts that a question shows are permitted; others that arrive while it
is open follow in one more question.

A hostile command may name any number of hosts: a call asks few questions, with few hosts each.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Literal, Protocol, TypeAlias

from kaa.workspace.network.allow_list import NetworkRule

HostAnswer: TypeAlias = Literal["call", "session", "no"]

_GATHER_SECONDS = 0.1  # programs open several connections at once: one question is for all of them
_MAX_HOSTS = 8  # in one question, besides those that the asker adds
_MAX_QUESTIONS = 6  # of one call
_MAX_REFUSALS = 2  # by then the user has said what they think of the call


class HostAsker(Protocol):
    """Asks the user of a call."""

    @property
    def can_ask(self) -> bool:
        """Whether an answer can be waited for; otherwise connections are refused at once."""
        ...

    def together(self, hosts: Sequence[str]) -> Sequence[str]:
        """All hosts that a question about these is about, as rules: these, and those that are used with them."""
        ...

    async def ask(self, hosts: Sequence[str], *, alone: bool) -> HostAnswer:
        """Ask about all of these hosts at once. Cancelling it withdraws the question.

        Args:
            hosts: rules, as the user writes them.
            alone: no other call runs commands that may have connected.

        Returns:
            Whether they are permitted until the call ends, for the session, or not at all.
        """
        ...


class HostQuestions:
    """What one call asks about hosts, and what was answered.

    Args:
        asker: asks the user of the call.
        permitted: what was answered before it began.

    Attributes:
        permitted: until the call ends.
        refused: likewise.
    """

    def __init__(self, asker: HostAsker, permitted: tuple[NetworkRule, ...] = ()) -> None:
        self._asker = asker
        self._count = 0
        self._refusals = 0
        self._shown: tuple[NetworkRule, ...] = ()
        self._next: list[NetworkRule] = []
        self._asking: asyncio.Task[None] | None = None
        self._turn = asyncio.Event()  # set when a question ends; then the next one gets its own
        self.permitted = permitted
        self.refused: tuple[NetworkRule, ...] = ()

    def takes(self, rule: NetworkRule) -> bool:
        """Whether the user can be asked about a host."""
        if covers(self._shown, rule) or rule in self._next:
            return True
        is_enough = self._count >= _MAX_QUESTIONS or self._refusals >= _MAX_REFUSALS
        return self._asker.can_ask and not is_enough and len(self._next) < _MAX_HOSTS

    async def wait_for(self, rule: NetworkRule, calls: "RunningCalls") -> None:
        """Wait until the question about a host has ended: answered or withdrawn."""
        if not covers(self._shown, rule) and rule not in self._next:
            self._next.append(rule)
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask_all(calls))
        while rule in self._next or covers(self._shown, rule):
            await self._turn.wait()

    async def settle(self) -> None:
        """Wait for the answer to a question that is open."""
        if self._asking is not None:
            await asyncio.wait({self._asking})

    async def withdraw(self) -> None:
        """End an open question without an answer."""
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
                self.refused += self._shown
        self._end_question()

    def _end_question(self) -> None:
        self._shown = ()
        self._turn.set()
        self._turn = asyncio.Event()


class RunningCalls:
    """The calls whose commands use one network now.

    Args:
        grant: permits rules for the session.
        changed: what holds until calls end is another now.
    """

    def __init__(self, grant: Callable[[Sequence[NetworkRule]], None], changed: Callable[[], None]) -> None:
        self._calls: list[HostQuestions] = []
        self.grant = grant
        self.changed = changed

    @property
    def permitted(self) -> tuple[NetworkRule, ...]:
        """What is permitted until the call ends that asked."""
        return tuple(rule for call in self._calls for rule in call.permitted)

    def permits(self, rule: NetworkRule) -> bool:
        """Whether a host is permitted until a call ends."""
        return covers(self.permitted, rule)

    def has_refused(self, rule: NetworkRule) -> bool:
        """Whether a user said no to a host while a call runs that asked about it."""
        return any(covers(call.refused, rule) for call in self._calls)

    def are_only(self, call: HostQuestions) -> bool:
        """Whether nothing else runs."""
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
        """Hold a connection until its host is permitted, refused, or nobody can be asked about it.

        Args:
            rule: the host.
            allows: whether it is permitted now.
        """
        while not allows() and not self.has_refused(rule):
            call = next((one for one in self._calls if one.takes(rule)), None)
            if call is None:
                return
            await call.wait_for(rule, self)


def covers(rules: Iterable[NetworkRule], rule: NetworkRule) -> bool:
    """Whether one of the rules names all that another one names."""
    return any(one.covers(rule) for one in rules)
