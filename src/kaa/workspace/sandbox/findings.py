"""To whom a finding of the guard belongs: to the calls that run when it comes to light, or else to conversations.

The guard sees what changed, not who changed it, and the proxy not who connects. Of calls that run at the same time,
those get a finding whose words name it; if none does, all of them. A call that runs in the foreground is answered soon,
so its result carries what is found meanwhile. What comes to light while only background processes of a conversation run
is told to this conversation at once, and its model learns it with the next result, as information. All conversations
are told what comes to light between calls, or beside kaa's own questions.

A call that is stopped has no result that says it, so its conversation is told what it found, and asked about it. Of a
call that takes long the user hears before it ends that something was moved away.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from kaa.host.paths import is_below
from kaa.workspace.blocked import Blocked

Tell: TypeAlias = Callable[[str], None]
# With a finding it gets what keeps one from the model, because it is at its place again.
AskAboutFound: TypeAlias = Callable[[Blocked, Callable[[Blocked], None]], None]

_MAX_FOR_MODEL = 8  # more than that is for the user to look at
# After so long in which a command goes on, its user hears that it is not its result that makes a saved file disappear.
_LONG_SECONDS = 3.0


class Listener:
    """A conversation, as far as it hears of findings. Until it can be told, findings wait."""

    def __init__(self) -> None:
        self._tell: Tell | None = None
        self._ask: AskAboutFound | None = None
        self._untold: list[Blocked] = []
        self._for_model: list[Blocked] = []

    def ask(self, ask: AskAboutFound) -> None:
        """From now on, this asks the user about files that were moved away, instead of telling of them."""
        self._ask = ask

    def tell(self, tell: Tell) -> None:
        """From now on, this is how its user is told; also of what waits."""
        self._tell = tell
        untold, self._untold = self._untold, []
        for blocked in untold:
            tell(blocked.notice)

    def say(self, sentence: str) -> None:
        """Tell the user something else about the sandbox, if the user can be told by now."""
        if self._tell is not None:
            self._tell(sentence)

    def hear(self, blocked: Blocked) -> None:
        """Tell the user now, and the model later."""
        self._for_model = [one for one in self._for_model if not blocked.includes(one)]
        if blocked not in self._for_model and len(self._for_model) < _MAX_FOR_MODEL:
            self._for_model.append(blocked)
        if self._tell is None:
            self._untold = [*(one for one in self._untold if not blocked.includes(one)), blocked]
        elif self._ask is not None and blocked.kind == "protected" and blocked.kept_as:
            self._ask(blocked, self._forget)
        else:
            self._tell(blocked.notice)

    def hear_of_stopped(self, blocked: Blocked) -> None:
        """Hear what the result of a call would have said that was stopped. Several calls may have had the same."""
        if blocked not in self._for_model:
            self.hear(blocked)

    def hear_of_left(self, blocked: Blocked) -> None:
        """Tell the user now, and the model later, what was moved away by a kaa that was killed since."""
        self._for_model = [*self._for_model, blocked][:_MAX_FOR_MODEL]
        from kaa.workspace.moved_wording import notice_after_kill  # lazy: the guard rarely moves anything

        self.say(notice_after_kill(blocked))

    def hear_later(self, later: Blocked) -> None:
        """Tell the user what was kept of a moved file since, unless they were not told of that file yet.

        A question shows what is in the file by then.
        """
        self._for_model = [one.with_later(later) for one in self._for_model]
        untold = [one.with_later(later) for one in self._untold]
        if untold == self._untold and (later.later or self._ask is None):
            from kaa.workspace.moved_wording import notice_of_later  # lazy, as above

            self.say(notice_of_later(later))
        self._untold = untold

    def _forget(self, blocked: Blocked) -> None:
        self._for_model = [one for one in self._for_model if not one.is_same_move(blocked)]

    def take_for_model(self) -> tuple[Blocked, ...]:
        """What the user was told since the last time, for the model to know."""
        taken, self._for_model = tuple(self._for_model), []
        return taken

    def inherit(self, other: "Listener") -> None:
        """Take over what the other could not tell."""
        self._untold, self._for_model = other._untold, other._for_model
        other._untold, other._for_model = [], []


class Carrier:
    """A call whose result says what was found while it ran.

    Args:
        path: absolute path of the only file that it writes; None: it may write anything.
        hosts: says which hosts were blocked since it began.

    Attributes:
        found: what was found so far, each once.
        beside: the calls that ran at the same time.
        is_running: it has not ended.
        saying: tells the user early of what was moved away; None while nothing was.
    """

    def __init__(
        self,
        listener: Listener,
        path: str | None = None,
        *,
        content: bytes = b"",
        words: str = "",
        hosts: Callable[[], Sequence[Blocked]] = tuple,
    ) -> None:
        self.listener = listener
        self.path = path
        self.content = content
        self.found: list[Blocked] = []
        self.beside: list[Carrier] = []
        self.is_running = False
        self.saying: asyncio.TimerHandle | None = None
        self._words = words
        self._hosts = hosts
        self._told: set[Blocked] = set()

    def take_hosts(self, output: bytes) -> tuple[Blocked, ...]:
        """Return the hosts that were blocked while the call ran, without those that only the words of others name.

        Args:
            output: of its command, which may name some, too.
        """
        hosts = self._hosts()
        own = tuple(
            one
            for one in hosts
            if self.names(one) or _name(one).encode() in output or not any(other._tells(one) for other in self.beside)
        )
        self._told.update(own)
        self.beside = []
        return own

    def names(self, blocked: Blocked) -> bool:
        """True if the words of the call name what was blocked."""
        name = _name(blocked)
        return name != "" and name in self._words

    def _tells(self, host: Blocked) -> bool:
        """True if the call names a blocked host, and its result says it, or will."""
        return self.names(host) and (host in self._told or (self.is_running and host in self._hosts()))

    def takes(self, blocked: Blocked) -> bool:
        """Whether the call may have caused this."""
        if self.path is None:
            return True
        real = os.path.realpath(self.path)  # a link may have led there
        return bool(blocked.what) and (is_below(blocked.what, [real]) or is_below(real, [blocked.what]))


def _name(blocked: Blocked) -> str:
    """What commands call it: the last part of a path, or a host without its port."""
    return blocked.what.rpartition(":")[0] if blocked.kind == "network" else os.path.basename(blocked.what)


class Findings:
    """Gives each finding to whom it belongs.

    Attributes:
        last: hears of findings while no conversation does: the one that left last, or `first`.
    """

    def __init__(self, first: Listener | None = None) -> None:
        self.last = first or Listener()
        self._listeners: list[Listener] = []
        self._carriers: list[Carrier] = []
        self._unread: set[Blocked] = set()  # what all conversations were told
        self._said: set[Blocked] = set()  # before the calls ended that have it
        self._in_background: list[Listener] = []  # once for each process

    def join(self) -> Listener:
        """Let one more conversation hear of findings, also of those that nobody could be told of before."""
        listener = Listener()
        listener.inherit(self.last)
        self._listeners.append(listener)
        return listener

    def leave(self, listener: Listener) -> None:
        self._listeners.remove(listener)
        self.last = listener

    @contextlib.contextmanager
    def carried(self, carrier: Carrier | None) -> Iterator[None]:
        """Give a call what is found meanwhile. None: the call has no result that anybody reads soon."""
        if carrier is None:
            yield
            return
        for other in self._carriers:
            other.beside.append(carrier)
            carrier.beside.append(other)
        self._carriers.append(carrier)
        carrier.is_running = True
        try:
            yield
        except BaseException as error:
            # A file tool whose write fails says itself what was moved away.
            if carrier.path is None or isinstance(error, asyncio.CancelledError):
                for one in carrier.found:
                    carrier.listener.hear_of_stopped(one)
            raise
        finally:
            carrier.is_running = False
            self._carriers.remove(carrier)
            if carrier.saying is not None:
                carrier.saying.cancel()
            if not self._carriers:
                self._said.clear()

    @contextlib.contextmanager
    def in_background(self, listener: Listener) -> Iterator[None]:
        """Meanwhile a background process of this conversation runs."""
        self._in_background.append(listener)
        try:
            yield
        finally:
            self._in_background.remove(listener)

    def deliver(self, found: Iterable[Blocked]) -> None:
        """Give what was found to the calls that may have caused it, and tell the conversations that may have."""
        for blocked in found:
            if blocked.kind == "unread":  # no call has caused it
                self._tell_once(blocked)
                continue
            possible = [carrier for carrier in self._carriers if carrier.takes(blocked)]
            is_named = any(carrier.names(blocked) for carrier in possible)
            carriers = [one for one in possible if not is_named or one.path is not None or one.names(blocked)]
            for carrier in carriers:
                if blocked not in carrier.found:
                    carrier.found = [*(one for one in carrier.found if not blocked.includes(one)), blocked]
                    if blocked.kept_as and carrier.saying is None:
                        loop = asyncio.get_running_loop()
                        carrier.saying = loop.call_later(_LONG_SECONDS, self._say_early, carrier)
            answered = [carrier.listener for carrier in carriers]
            everybody = self._listeners or [self.last]
            running = [one for one in everybody if one in self._in_background and one not in answered]
            for listener in running or ([] if carriers else everybody):
                listener.hear(blocked)

    def deliver_later(self, later: Blocked) -> None:
        """Pass on what was kept of a moved file since: to the calls that have it, or else to who was told of it."""
        is_carried = False
        for carrier in self._carriers:
            found = [one.with_later(later) for one in carrier.found]
            is_carried = is_carried or found != carrier.found
            carrier.found = found
        everybody = self._listeners or [self.last]
        running = [one for one in everybody if one in self._in_background]
        for listener in () if is_carried else running or everybody:
            listener.hear_later(later)

    def _tell_once(self, blocked: Blocked) -> None:
        """Tell all conversations what each guard finds at its start again."""
        for listener in (self._listeners or [self.last]) if blocked not in self._unread else ():
            listener.hear(blocked)
        self._unread.add(blocked)

    def _say_early(self, carrier: Carrier) -> None:
        """Tell the user what was moved away while a call runs that takes long. Each file is said once."""
        new = [one for one in carrier.found if one.kept_as and one not in self._said]
        self._said.update(new)
        if new:
            from kaa.workspace.moved_wording import moved_early  # lazy, as above

            carrier.listener.say(moved_early(new))
