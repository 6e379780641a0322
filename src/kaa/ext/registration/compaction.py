"""Registers what has a part in compaction."""

from collections.abc import Callable
from typing import TypeVar, overload

from kaa.ext.errors import RegistrationError
from kaa.ext.hooks import (
    AfterCompactionHook,
    BeforeCompactionHook,
    CarriedSection,
    Compactor,
    ShortenResultsHook,
)
from kaa.ext.registration.base import NAME, Registrar, require_function

AfterCompactionT = TypeVar("AfterCompactionT", bound=AfterCompactionHook)
BeforeCompactionT = TypeVar("BeforeCompactionT", bound=BeforeCompactionHook)
CarriedSectionT = TypeVar("CarriedSectionT", bound=CarriedSection)
CompactorT = TypeVar("CompactorT", bound=Compactor)
ShortenResultsT = TypeVar("ShortenResultsT", bound=ShortenResultsHook)


class CompactionRegistrations(Registrar):
    """Compaction, and what shortens a conversation before it."""

    def shorten_results(self, hook: ShortenResultsT) -> ShortenResultsT:
        """Run before each request of a run, before kaa looks whether the conversation must be compacted.

        The hook gets a `ResultsRequest`. It returns `ShortenResults(results, reason)`: from this request on the model
        sees these results with their new content, and later hooks do not run. kaa records that in the session, so it
        lasts; going back to an entry before it restores the results. Results of tools that are registered as `lasting`
        stay. What was sent is then no longer read from the provider's cache from the first changed result on, so
        shorten many results at once, and rarely. Failure: counts as None.
        """
        return self._add_hook(self._open_scope().result_shorteners.append, hook)

    def before_compaction(self, hook: BeforeCompactionT) -> BeforeCompactionT:
        """Run before each compaction, before all compactors.

        The hook gets a `CompactionRequest`. It returns `Block(reason)`: kaa does not compact, the user sees the reason,
        and later hooks and compactors do not run. Automatic compaction then waits until the user's next message; if the
        conversation exceeds the model's window, the run ends with that error. Failure: counts as None.
        """
        return self._add_hook(self._open_scope().before_compactions.append, hook)

    def after_compaction(self, hook: AfterCompactionT) -> AfterCompactionT:
        """Run after each successful compaction, before the next request.

        The hook gets the `CompactionEnd` event and returns None. Failure: has no consequences.
        """
        return self._add_hook(self._open_scope().after_compactions.append, hook)

    def register_compactor(self, compactor: CompactorT) -> CompactorT:
        """Write summaries instead of kaa.

        `compactor` gets a `CompactionRequest`, without a context, and returns a `CondensedText`, or None to leave the
        summary to the next compactor or kaa. kaa appends the user's own sentences and the carried texts. It has no time
        limit. Failure: counts as None.
        """
        return self._add_hook(self._open_scope().compactors.append, compactor)

    @overload
    def carry_through_compaction(self, name: str, section: CarriedSectionT) -> CarriedSectionT: ...

    @overload
    def carry_through_compaction(self, name: str) -> Callable[[CarriedSectionT], CarriedSectionT]: ...

    def carry_through_compaction(
        self, name: str, section: CarriedSectionT | None = None
    ) -> CarriedSectionT | Callable[[CarriedSectionT], CarriedSectionT]:
        """Add a text to each summary word for word, for example the current plan. Without `section`, a decorator.

        Args:
            name: the title for the model: letters, digits, _ and -. A second text of this name replaces the first.
            section: gets the `ConversationContext`, returns the text or None. It must return at once. Failure: the text
                is missing.

        Raises:
            RegistrationError: the name is invalid.
        """
        if not NAME.fullmatch(name):
            raise RegistrationError(f"invalid name {name!r} of a text: use 1 to 64 letters, digits, _ and -")

        def register(section: CarriedSectionT) -> CarriedSectionT:
            require_function(section)
            self._open_scope().carried[name] = section
            return section

        return register if section is None else register(section)
