"""What extensions show: checked, attributed, limited, told once where it cannot be shown, and removed in the end."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from kaa.ext.api import CommandContext, ExtensionAPI, Markdown, Table, Text
from kaa.ext.display import ALL_KINDS, DisplayKind, DisplayUpdate, NoticeShown, StatusSection, Widget, WindowTitle
from kaa.ext.errors import ExtensionError
from kaa.shell.host import Host, HostedConversation
from kaa.shell.options import ConversationOptions
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.extension_ids import named
from tests.support.stage import Stage

_OPTIONS = ConversationOptions(model="m", approvals="never")

Act = Callable[[CommandContext], object]


class Screen:
    """A frontend that remembers what it was told to show."""

    def __init__(self, *shows: DisplayKind) -> None:
        self.shows = shows or tuple(ALL_KINDS)
        self.updates: list[DisplayUpdate] = []
        self.told = asyncio.Event()

    def show(self, update: DisplayUpdate) -> None:
        """Remember it."""
        self.updates.append(update)
        self.told.set()

    async def until(self, wanted: Callable[[DisplayUpdate], bool]) -> None:
        """Wait until something was shown."""
        while not any(map(wanted, self.updates)):
            self.told.clear()
            await self.told.wait()

    @property
    def changes(self) -> list[object]:
        """What was shown."""
        return [update.change for update in self.updates]


def acting(act: Act) -> Callable[[ExtensionAPI], None]:
    """An extension whose command `/act` does this."""

    async def handler(_arguments: str, context: CommandContext) -> None:
        act(context)

    return lambda api: api.register_command("act", "Act", handler)


def opened(stage: Stage, scene: Callable[[Host, HostedConversation], Awaitable[None]]) -> None:
    """Open a conversation, do `scene` with it."""

    async def whole() -> None:
        host = stage.host()
        try:
            await scene(host, await host.open(_OPTIONS, MemoryWorkspace(stage.files)))
        finally:
            await host.close()

    run(whole())


def shown(stage: Stage, act: Act, *kinds: DisplayKind) -> Screen:
    """What a frontend shows when an extension does this, and nothing more."""
    stage.display = screen = Screen(*kinds)

    async def scene(host: Host, hosted: HostedConversation) -> None:
        host.extensions.load(named("mine"), acting(act))
        await hosted.conversation.submit("/act")
        screen.shows = ()  # what is removed in the end is not asked about

    opened(stage, scene)
    return screen


def test_a_change_names_its_extension_and_its_conversation(stage: Stage) -> None:
    screen = shown(stage, lambda context: context.show.notice("done", "warning"))

    assert screen.updates == [DisplayUpdate("1", "mine", "mine", NoticeShown("done", "warning"))]


def test_texts_have_no_escape_sequences_and_a_limited_length(stage: Stage) -> None:
    def act(context: CommandContext) -> None:
        context.show.status("s", "\x1b[31mred\nline " + "x" * 500)
        context.show.widget("w", ["\x1b]0;title\x07", Markdown("a\x9b1mb")])

    status, widget, *_ = shown(stage, act).changes

    assert isinstance(status, StatusSection)
    assert status.text.startswith("\\x1b[31mred line x")
    assert len(status.text) < 100
    assert isinstance(widget, Widget)
    assert widget.content == (Text("\\x1b]0;title\\x07"), Markdown("a\\x9b1mb"))


@pytest.mark.parametrize(
    ("act", "problem"),
    [
        (lambda context: context.show.notice(5), "5 cannot be shown: use a text"),
        (lambda context: context.show.notice("x", "loud"), "invalid value 'loud': use one of info, warning, error"),
        (lambda context: context.show.status("a b", "x"), "invalid key 'a b'"),
        (lambda context: context.show.widget("w", 7), "7 cannot be shown: use a text, a display value or a list"),
        (lambda context: context.show.widget("w", [Table(("a",), ((cast("str", 5),),))]), "expected `str`, got `int`"),
        (
            lambda context: context.show.widget("w", "x" * 30_000),
            "30,004 characters cannot be shown",
        ),
        (lambda context: [context.show.status(str(n), "x") for n in range(9)], "can show 8 status sections at a time"),
    ],
)
def test_misuse_is_an_error_of_the_extension(stage: Stage, act: Act, problem: str) -> None:
    with pytest.raises(ExtensionError) as caught:
        shown(stage, act)

    assert "mine" in str(caught.value)
    assert problem in str(caught.value)


def test_what_cannot_be_shown_is_returned_and_told_once(stage: Stage) -> None:
    returned: list[bool] = []

    def act(context: CommandContext) -> None:
        returned.extend([context.show.status("a", "x"), context.show.status("b", "x"), context.show.notice("seen")])

    shown(stage, act, "notice")

    assert returned == [False, False, True]
    assert stage.notices == ["extension mine shows status sections, which are not visible in this mode"]


def test_the_same_again_is_not_shown_again(stage: Stage) -> None:
    def act(context: CommandContext) -> None:
        context.show.title("one")
        context.show.title("one")
        context.show.title("")
        context.show.title("")

    stage.display = screen = Screen()

    async def scene(host: Host, hosted: HostedConversation) -> None:
        host.extensions.load(named("mine"), acting(act))
        await hosted.conversation.submit("/act")
        await screen.until(lambda update: update.change == WindowTitle(""))

    opened(stage, scene)

    assert screen.changes == [WindowTitle("one"), WindowTitle("")]


def test_a_flood_becomes_a_few_changes_and_the_last_one_is_shown(stage: Stage) -> None:
    returned: list[bool] = []

    def act(context: CommandContext) -> None:
        for number in range(5000):
            context.show.widget("w", str(number))
            returned.append(context.show.notice(str(number)))

    stage.display = screen = Screen()

    async def scene(host: Host, hosted: HostedConversation) -> None:
        host.extensions.load(named("mine"), acting(act))
        await hosted.conversation.submit("/act")
        await screen.until(lambda update: update.change == Widget("w", (Text("4999"),)))

    opened(stage, scene)

    notices = [change for change in screen.changes if isinstance(change, NoticeShown)]
    dropped = [one for one in notices if one.text.endswith("not shown: the extension sent too many at once")]
    assert returned.count(False) > 4000
    assert sum(int(one.text.split()[0].replace(",", "")) for one in dropped) == returned.count(False)
    assert len(notices) - len(dropped) == returned.count(True)


def test_what_lasts_is_removed_when_the_extension_is_unloaded(stage: Stage) -> None:
    contexts: list[Any] = []

    def act(context: CommandContext) -> None:
        contexts.append(context.show)
        context.show.status("s", "on")
        context.show.widget("w", "lines")

    stage.display = screen = Screen()

    async def scene(host: Host, hosted: HostedConversation) -> None:
        host.extensions.load(named("mine"), acting(act))
        await hosted.conversation.submit("/act")
        host.extensions.unload(named("mine"))
        assert contexts[0].status("s", "late") is False

    opened(stage, scene)

    assert screen.changes == [
        StatusSection("s", "on"),
        Widget("w", (Text("lines"),)),
        StatusSection("s", ""),
        Widget("w", ()),
    ]


def test_conversations_show_only_their_own_until_they_are_closed(stage: Stage) -> None:
    stage.display = screen = Screen()

    async def scene(host: Host, first: HostedConversation) -> None:
        host.extensions.load(named("mine"), acting(lambda context: context.show.title(f"of {context.conversation_id}")))
        second = await host.open(_OPTIONS, MemoryWorkspace(stage.files))
        for hosted in (first, second):
            await hosted.conversation.submit("/act")
        await host.end(first)
        assert [(one.conversation, one.change) for one in screen.updates] == [
            ("1", WindowTitle("of 1")),
            ("2", WindowTitle("of 2")),
            ("1", WindowTitle("")),
        ]

    opened(stage, scene)


def test_tasks_tools_and_hooks_are_attributed_too(stage: Stage) -> None:
    stage.display = screen = Screen()

    def extend(api: ExtensionAPI) -> None:
        async def started(_start: object, context: Any) -> None:
            async def later() -> None:
                context.show.notice("from a task")

            await asyncio.create_task(later())

        api.on_session_start(started)

    async def scene(host: Host, hosted: HostedConversation) -> None:
        host.extensions.load(named("mine"), extend)
        await hosted.begin()

    opened(stage, scene)

    assert [(one.extension, one.change) for one in screen.updates] == [("mine", NoticeShown("from a task"))]
