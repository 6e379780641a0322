import asyncio
import logging

import pytest

from kaa.ext.asking import NOBODY, confirm
from kaa.ext.calling import call
from kaa.ext.context import ConversationContext
from kaa.ext.errors import ExtensionError
from kaa.ext.hooks import SessionEnd, SessionStart
from kaa.ext.scope import Scope
from kaa.host.log import LOG
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.extension_ids import named
from tests.support.person import yes_or_no
from tests.support.registries import LoadedRegistry


@pytest.fixture
def context() -> ConversationContext:
    return ConversationContext(MemoryWorkspace(), NOBODY)


def test_a_hook_that_takes_too_long_is_cancelled_and_named(context: ConversationContext) -> None:
    cancelled: list[bool] = []

    async def endless(_context: ConversationContext) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    with pytest.raises(ExtensionError, match="Extension mine: a hook took over 0 seconds"):
        run(call(Scope(named("mine")), "a hook", endless, context=context, seconds=0))
    assert cancelled == [True]


def test_the_end_of_a_session_asks_nobody() -> None:
    reports: list[str] = []
    registry = LoadedRegistry(reports.append, asker=yes_or_no())

    async def ask(_end: SessionEnd, context: ConversationContext) -> None:
        await confirm(context.asker, "Really?")

    async def session() -> None:
        await registry.session.started(SessionStart("startup", "id", None))
        await registry.session.ended(SessionEnd("quit", "id", None))

    registry.api.on_session_end(ask)
    run(session())

    assert len(reports) == 1
    assert "Nobody can be asked here: Really?" in reports[0]


def test_the_traceback_is_a_record_of_the_log(context: ConversationContext) -> None:
    records: list[logging.LogRecord] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    async def broken(_context: ConversationContext) -> None:
        raise ValueError("bug")

    handler, level = Kept(), LOG.level
    LOG.addHandler(handler)
    LOG.setLevel(logging.ERROR)
    try:
        with pytest.raises(ExtensionError, match="Extension mine: a hook failed: ValueError: bug"):
            run(call(Scope(named("mine")), "a hook", broken, context=context))
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(level)

    (record,) = records
    assert record.getMessage() == "extension mine: a hook failed"
    assert record.exc_info is not None
    assert record.exc_info[0] is ValueError
