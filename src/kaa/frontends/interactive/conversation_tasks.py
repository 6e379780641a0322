"""What occupies the conversation without being a run: condensing it, summing up a branch, going elsewhere in it.

What is said meanwhile waits, and is shown. Afterwards it goes to the model; if the work failed, it comes back.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from kaa.core.messages import UserMessage
from kaa.frontends.interactive.attachments import Attachments, without_numbers
from kaa.frontends.interactive.drafts import DraftKeeper
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.ui_context import UIContext
from kaa.shell.work_queue import WorkResult

ResultT = TypeVar("ResultT")


class ConversationTasks:
    def __init__(self, ui: UIContext, attachments: Attachments, drafts: DraftKeeper) -> None:
        self._ui = ui
        self._attachments = attachments
        self._drafts = drafts

    def do(
        self,
        work: Callable[[Engine], Awaitable[ResultT]],
        done: Callable[[ResultT], None],
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Have some work done.

        Args:
            done: gets the result; what waited is said behind it.
            failed: gets the exception, instead of what shows it otherwise.
        """

        def finished(aside: WorkResult[ResultT]) -> None:
            done(aside.result)
            for message in aside.said:
                self._say(message)

        def went_wrong(error: BaseException) -> None:
            (failed or self._ui.show_failure)(error)
            self._take_back()

        self._ui.call(lambda engine: engine.aside(lambda: work(engine)), finished, went_wrong)

    def compact(self, instructions: str) -> None:
        """Condense the conversation. Its events tell what came of it."""
        self.do(lambda engine: engine.conversation.compaction.compact(instructions), lambda _: None)

    def failed(self, error: BaseException) -> None:
        """Show what went wrong, and put back into the editor what was not said because of it."""
        self._ui.show_failure(error)
        self._take_back()

    def give_back(self, messages: list[UserMessage]) -> None:
        """Put what waited into the editor, before what is there."""
        texts = [self._attachments.take_back(message) for message in messages]
        self._ui.main_view.give_back(texts, "\n\n")
        self._let_go(messages)

    def give_back_left(self, messages: list[UserMessage]) -> None:
        """Put what waited before the conversation was opened into the editor, but for what its draft has already.

        A kill may have come when messages were in the draft and in their file.
        """
        texts = [self._attachments.take_back(message) for message in messages]
        typed, new = f"\n\n{without_numbers(self._ui.main_view.editor.text)}\n\n", []
        for text in texts:
            if (kept := f"\n\n{without_numbers(text)}\n\n") in typed:
                typed = typed.replace(kept, "\n\n", 1)
            else:
                new.append(text)
        self._ui.main_view.give_back(new, "\n\n")
        self._let_go(messages)

    def _let_go(self, messages: list[UserMessage]) -> None:
        if messages:
            self._drafts.keep_then(lambda: self._ui.call(lambda engine: engine.let_go(messages)))

    def _take_back(self) -> None:
        # Where no conversation is open, nothing waits, and that has been told.
        self._ui.call(lambda engine: engine.take_unsaid(), self.give_back, lambda _: None)

    def _say(self, message: UserMessage) -> None:
        self._ui.call(lambda engine: engine.say_held(message), None, self.failed)
