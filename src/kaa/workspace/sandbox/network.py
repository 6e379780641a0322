"""The network of the sandbox as long as nobody uses it: the gate is loaded with the first connection, not before.

Most commands never connect to anything, and loading the gate takes longer than they do.
"""

import asyncio
import contextlib
import socket
import weakref
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from kaa.workspace.blocked import Blocked
from kaa.workspace.network.allow_list import GrantedAddress, NetworkRule, NetworkRuleError, NetworkState, askable

if TYPE_CHECKING:
    from kaa.workspace.network.asking import HostQuestions, RunningCalls
    from kaa.workspace.network.gate import BlockedDestination, NetworkGate


class Network:
    """What commands may reach. Changing it acts on running commands too.

    Args:
        state: what is allowed at first.
        environment: where the proxies of the user's network are named.
    """

    def __init__(self, state: NetworkState, environment: Mapping[str, str]) -> None:
        self._state = state
        self._environment = environment
        self._gate: NetworkGate | None = None
        self._calls: RunningCalls | None = None
        self._narrower: weakref.WeakSet[Network] = weakref.WeakSet()
        self._leader: Network | None = None
        self._waiting: dict[socket.socket, asyncio.AbstractEventLoop] = {}
        self._granted: set[NetworkRule] = set()

    @property
    def state(self) -> NetworkState:
        return self._state

    def set_state(self, state: NetworkState) -> None:
        """Change what is allowed; connections that are no longer allowed are cut."""
        self._state = state
        self._apply()
        for network in self._narrower:
            within = msgspec.structs.replace(network.state, within=state)
            network.set_state(state if network._leader is self else within)

    def choose(self, text: str, *, named: bool = False) -> None:
        """Change what is allowed to what a text says, as `--net` takes it.

        Args:
            named: the person wrote these hosts. Otherwise those among them that were allowed in answer to a question
                stay no more than that.

        Raises:
            NetworkRuleError: it is no such text.
        """
        chosen = NetworkState.parse(text)
        if named:
            self._granted.difference_update(chosen.rules)
        kept = tuple(rule for rule in chosen.rules if rule in self._granted)
        rules = tuple(rule for rule in chosen.rules if rule not in kept)
        self.set_state(msgspec.structs.replace(chosen, rules=rules, granted=kept, within=self._state.within))

    def limit(self, narrower: "Network") -> None:
        """From now on, what this network may not reach the other one may not reach either."""
        self._narrower.add(narrower)

    def lead(self, follower: "Network") -> None:
        """From now on, the other network may reach what this one may reach; an answer to a question holds for both."""
        self._narrower.add(follower)
        follower._leader = self

    def allow(self, rule: str) -> None:
        """Allow one more destination in answer to a question: at public addresses.

        Raises:
            NetworkRuleError: it is no rule.
        """
        self._grant([NetworkRule.parse(rule)])

    def allows(self, rule: str) -> bool:
        """Whether all that a rule names may be reached, as far as names tell. A text that is no rule names nothing."""
        try:
            named = NetworkState().allowing(NetworkRule.parse(rule))
        except NetworkRuleError:
            return False
        return not named.beyond(self._state)

    @contextlib.asynccontextmanager
    async def used_by(self, questions: "HostQuestions | None") -> AsyncIterator[Callable[[], float]]:
        """Meanwhile commands of a call run. None: nobody is asked on its behalf.

        Yields:
            What returns the seconds in which its commands may have waited for an answer, counted from any moment.
        """
        if questions is None:
            yield lambda: 0.0
            return
        calls = self._running_calls()
        async with calls.joined(questions):
            yield lambda: calls.waited

    def attach(self, listener: socket.socket) -> int:
        """Serve what comes to a listening socket, which is owned from now on. Needs a running loop. Gives its port."""
        listener.setblocking(False)
        if self._gate is not None:
            return self._gate.attach(listener)
        loop = asyncio.get_running_loop()
        self._waiting[listener] = loop
        loop.add_reader(listener, self._open)
        return int(listener.getsockname()[1])

    def mark(self) -> int:
        """The present, for `blocked_since`."""
        return 0 if self._gate is None else self._gate.mark()

    def blocked_since(self, mark: int) -> tuple[Blocked, ...]:
        """Where commands were kept from since, each destination once."""
        refusals = () if self._gate is None else self._gate.blocked_since(mark)
        return tuple(map(self._blocked, refusals))

    @property
    def problem(self) -> str | None:
        """What in the environment keeps commands from the network, as far as it is known."""
        return None if self._gate is None else self._gate.problem

    async def close(self) -> None:
        """Close the listeners and cut all connections."""
        for listener in self._take_waiting():
            listener.close()
        if self._gate is not None:
            await self._gate.close()

    def _open(self) -> None:
        """Somebody connects: load the gate, and let it serve."""
        from kaa.workspace.network.gate import NetworkGate  # only now, see above

        self._gate = NetworkGate(self._state, environment=self._environment, calls=self._running_calls())
        self._apply()
        for listener in self._take_waiting():
            self._gate.attach(listener)

    def _grant(self, rules: Sequence[NetworkRule]) -> None:
        if self._leader is not None:
            self._leader._grant(rules)
            return
        self._granted.update(rules)
        self.set_state(self._state.granting(*rules))

    def _grant_at(self, addresses: Sequence[GrantedAddress]) -> None:
        if self._leader is not None:
            self._leader._grant_at(addresses)
            return
        self.set_state(self._state.granting_at(*addresses))

    def _apply(self) -> None:
        if self._gate is not None:
            calls = self._running_calls()
            self._gate.set_state(self._state.granting(*calls.permitted).granting_at(*calls.permitted_at))

    def _running_calls(self) -> "RunningCalls":
        from kaa.workspace.network.asking import RunningCalls  # lazy: many conversations run no command

        if self._calls is None:
            self._calls = RunningCalls(self._grant, self._grant_at, self._apply)
        return self._calls

    def _blocked(self, refusal: "BlockedDestination") -> Blocked:
        what, calls = str(refusal.destination), self._running_calls()
        if refusal.rule is None and askable(refusal.destination):  # what its name does not show
            return Blocked("forbidden", what)
        rule = NetworkRule.exactly(refusal.destination)
        if not refusal.waited or calls.has_refused(rule):
            return Blocked("private" if refusal.private else "network", what)
        if refusal.private:  # its name is permitted, and says nothing about the address
            return Blocked("unanswered", what)
        return Blocked("late" if self.allows(str(rule)) or calls.permits(rule) else "unanswered", what)

    def _take_waiting(self) -> list[socket.socket]:
        waiting, self._waiting = self._waiting, {}
        for listener, loop in waiting.items():
            loop.remove_reader(listener)
        return list(waiting)
