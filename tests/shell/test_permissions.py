"""What the user permits while a conversation goes on: the mode, and directories. In a real sandbox."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from kaa.ext.errors import CommandError
from kaa.host.programs import note_writable
from kaa.shell.conversation import CommandReply, Conversation
from kaa.shell.home import Home
from kaa.shell.host import Host, HostedConversation
from kaa.shell.kept_permissions import KeptPermissions
from kaa.shell.options import ContinueSession, ConversationOptions, HostOptions, NewSession, ResumeSession
from kaa.shell.permissions import SessionPermissions
from kaa.shell.safety import SandboxFlags
from kaa.workspace.protocol import CommandRequest
from tests.support.agents import run
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer, say
from tests.support.patience import HANG_SECONDS

Scene = Callable[[Conversation], Awaitable[None]]


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_elsewhere() as folder:
        for name in ("home", "project", "added"):
            (folder / name).mkdir()
        yield folder


def play(
    folder: Path, scene: Scene, flags: SandboxFlags | None = None, choices: ConversationOptions | None = None
) -> list[str]:
    async def alone(_host: Host, hosted: HostedConversation) -> None:
        await scene(hosted.conversation)

    return play_hosted(folder, alone, flags, choices)


def play_hosted(
    folder: Path,
    scene: Callable[[Host, HostedConversation], Awaitable[None]],
    flags: SandboxFlags | None = None,
    choices: ConversationOptions | None = None,
) -> list[str]:
    notices: list[str] = []
    chosen = flags or SandboxFlags()

    async def whole(server: ModelServer) -> None:
        environ = {
            "HOME": str(folder / "home"),
            "PATH": os.environ["PATH"],
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "KAA_LOCAL_SERVERS": "none",
            "OPENAI_API_KEY": "key",
        }
        host = Host(HostOptions(), Home(folder / "home" / ".kaa"), environ, lambda notice: notices.append(notice.text))
        try:
            workspace = host.workspaces.open(str(folder / "project"), chosen)
            if chosen.mode != "full-access" and not (await workspace.sandbox.status()).confined:
                pytest.skip("this machine cannot confine anything")
            options = choices or ConversationOptions(model="m", approvals="ask")
            await scene(host, await host.open(options, workspace))
        finally:
            await host.close()

    with ModelServer([say("Hello.")]) as server:
        run(whole(server))
    return notices


async def told(conversation: Conversation, command: str) -> str:
    answer = await conversation.submit(command)
    assert isinstance(answer, CommandReply)
    return answer.text


async def writes(conversation: Conversation, path: str) -> bool:
    result = await conversation.workspace.run(CommandRequest(["touch", path], timeout=HANG_SECONDS))
    return result.exit_code == 0


def test_the_mode_cycles_and_the_kernel_holds_read_only(folder: Path) -> None:
    async def scene(conversation: Conversation) -> None:
        approvals = conversation.approvals
        assert await approvals.cycle() == "auto"
        assert await approvals.cycle() == "plan"
        assert (await conversation.status()).mode == "plan"
        assert not await writes(conversation, "a")
        assert await approvals.cycle() == "ask"
        assert await writes(conversation, "a")
        assert await told(conversation, "/approvals read-only") == "approvals: read-only"
        assert not await writes(conversation, "b")
        assert await told(conversation, "/approvals never") == "approvals: read-only"
        assert await told(conversation, "/approvals auto") == "approvals: auto"
        assert await writes(conversation, "b")

    play(folder, scene)


def test_read_only_says_what_can_still_write(folder: Path) -> None:
    os.mkfifo(folder / "project" / "go")

    async def scene(conversation: Conversation) -> None:
        await conversation.workspace.run_in_background(CommandRequest(["sh", "-c", "read _ < go"]))
        assert (await conversation.status()).jobs == 1

        answer = await told(conversation, "/approvals read-only")

        assert answer.splitlines() == [
            "approvals: read-only",
            "1 background process keeps the right to write until the end; /bg lists, /bg-cancel stops",
        ]

    play(folder, scene)


def test_plan_says_that_a_running_command_of_an_agent_in_the_background_can_still_write(folder: Path) -> None:
    async def scene(_host: Host, hosted: HostedConversation) -> None:
        await hosted.begin()
        over, told_of = asyncio.Event(), asyncio.Event()

        async def work() -> None:
            await over.wait()

        hosted.work.subscribe(told_of.set)
        hosted.work.run_beside(work())
        assert (await hosted.conversation.status()).beside == 1

        answer = await told(hosted.conversation, "/approvals plan")
        over.set()
        await told_of.wait()

        assert "an agent in the background" in answer
        assert (await hosted.conversation.status()).beside == 0

    play_hosted(folder, scene)


def test_without_a_sandbox_read_only_is_skipped_and_explained(folder: Path) -> None:
    async def scene(conversation: Conversation) -> None:
        approvals = conversation.approvals
        assert (await approvals.cycle()).startswith("auto\nplan needs a sandbox")
        assert (await approvals.cycle()).startswith("ask\n")
        with pytest.raises(CommandError, match="full-access"):
            await approvals.choose("read-only")
        assert approvals.policy == "ask"

    play(folder, scene, SandboxFlags("full-access"))


def test_directories_are_added_listed_and_completed(folder: Path) -> None:
    added = folder / "added"
    (added / "inner").mkdir()

    async def scene(conversation: Conversation) -> None:
        assert not await writes(conversation, str(added / "a"))
        assert (
            await told(conversation, "/add-dir ../added") == f"{added} can be written now, except its protected files"
        )
        assert await writes(conversation, str(added / "a"))
        assert await told(conversation, f"/add-dir {added}/inner") == f"{added}/inner can be written already"
        assert (await told(conversation, "/add-dir")).splitlines()[1:] == [str(folder / "project"), str(added)]
        offered = [one.text for one in await conversation.complete_command("add-dir", "../ad")]
        assert offered == ["../added/"]
        refused = await told(conversation, "/add-dir /")
        assert refused == "cannot add /: it contains your home directory. Choose a directory in it."
        assert "kaa keeps its own files" in await told(conversation, f"/add-dir {folder}/home/.kaa")

    play(folder, scene)


def test_a_directory_that_is_added_while_nothing_can_be_written_waits(folder: Path) -> None:
    async def scene(conversation: Conversation) -> None:
        await told(conversation, "/approvals read-only")
        answer = await told(conversation, "/add-dir ../added")
        assert answer == f"{folder / 'added'} can be written when the mode is not read-only"
        assert (await told(conversation, "/add-dir")).startswith("nothing is writable in the mode read-only;")
        assert not await writes(conversation, "../added/a")
        await told(conversation, "/approvals auto")
        assert await writes(conversation, "../added/a")

    play(folder, scene)


ASKING = ConversationOptions(model="m", approvals="ask")
AGAIN = ConversationOptions(model="m", session=ContinueSession())


def test_a_setting_says_where_its_value_comes_from_and_takes_effect_at_once(folder: Path) -> None:
    async def scene(conversation: Conversation) -> None:
        (folder / "project" / ".git").mkdir()
        assert await told(conversation, "/settings sandbox.git") == "sandbox.git  true  (default)\nValues: true, false"
        assert await told(conversation, "/settings --project sandbox.network pypi.org") == (
            f'sandbox.network: "pypi.org" (in {folder}/project)\nnetwork now: pypi.org'
        )
        assert await told(conversation, "/settings sandbox.network") == 'sandbox.network  "pypi.org"  (this project)'
        assert await told(conversation, "/settings --global sandbox.network on") == (
            'sandbox.network: "on"\nthis project has its own value: "pypi.org"\nnetwork now: pypi.org'
        )

        await told(conversation, "/settings --session sandbox.git false")
        assert (await told(conversation, "/settings sandbox.git")).startswith("sandbox.git  false  (this session)")
        assert not await writes(conversation, ".git/index")
        await told(conversation, "/settings --session sandbox.git true")
        assert await writes(conversation, ".git/index")

        answer = await told(conversation, "/settings --global sandbox.writable ../added")
        assert answer.endswith("added can be written now, except its protected files")
        assert await writes(conversation, "../added/a")
        assert (await told(conversation, "/settings sandbox.writable")).endswith("(all projects)")
        assert "cannot be set for this session" in await told(conversation, "/settings --session sandbox.hidden x")

    play(folder, scene)


def test_git_and_ports_of_a_session_are_restored(folder: Path) -> None:
    (folder / "project" / ".git").mkdir()

    async def choose(conversation: Conversation) -> None:
        await conversation.submit("hello")
        await told(conversation, "/settings --session sandbox.git false")
        await told(conversation, "/settings --session sandbox.ports open")

    async def again(conversation: Conversation) -> None:
        assert not await writes(conversation, ".git/index")
        assert await told(conversation, "/settings sandbox.ports") == (
            'sandbox.ports  "open"  (this session)\nValues: closed, open'
        )

    play(folder, choose, choices=ASKING)
    notices = play(folder, again, choices=AGAIN)

    assert any(notice.startswith("Restored from this session: git read-only, ports open.") for notice in notices)


def test_what_a_setting_says_is_not_kept_with_the_session(folder: Path) -> None:
    async def choose(conversation: Conversation) -> None:
        await conversation.submit("hello")
        await told(conversation, "/settings --project sandbox.git false")
        await told(conversation, "/settings --project sandbox.writable ../added")
        await told(conversation, "/settings --project approvals.policy step")
        await told(conversation, "/net pypi.org")

    async def again(conversation: Conversation) -> None:
        assert (await told(conversation, "/settings sandbox.git")).startswith("sandbox.git  false  (this project)")

    play(folder, choose, choices=ASKING)
    notices = play(folder, again, choices=AGAIN)

    assert [notice for notice in notices if notice.startswith("Restored")] == [
        "Restored from this session: network pypi.org. /approvals, /net, /add-dir and /settings change it."
    ]


async def choose_all(conversation: Conversation) -> None:
    await conversation.submit("hello")  # so that there is a session
    await told(conversation, "/net pypi.org")
    await told(conversation, "/add-dir ../added")
    await told(conversation, "/approvals read-only")


def test_a_session_that_is_continued_has_what_the_user_permitted_in_it(folder: Path) -> None:
    async def again(conversation: Conversation) -> None:
        assert conversation.approvals.policy == "read-only"
        assert conversation.containment.network == "pypi.org"
        assert not await writes(conversation, "../added/a")
        await told(conversation, "/approvals auto")
        assert await writes(conversation, "../added/a")

    play(folder, choose_all, choices=ASKING)
    notices = play(folder, again, choices=AGAIN)

    restored = [notice for notice in notices if notice.startswith("Restored")]
    assert restored == [
        f"Restored from this session: {folder}/added writable, read-only, network pypi.org."
        " /approvals, /net, /add-dir and /settings change it."
    ]
    third = play(folder, _expect_auto, choices=AGAIN)
    assert "read-only" not in str(third)


def test_hosts_that_answers_permitted_end_with_kaa_and_are_told_once(folder: Path) -> None:
    async def answered(conversation: Conversation) -> None:
        await conversation.begin("startup")
        await conversation.submit("hello")
        for host in ("pypi.org", "files.pythonhosted.org", "a.example"):
            conversation.containment.allow_host(host)

    async def again(conversation: Conversation) -> None:
        await conversation.begin("resume")
        assert conversation.network == "off"

    play(folder, answered, choices=ASKING)
    second, third = play(folder, again, choices=AGAIN), play(folder, again, choices=AGAIN)

    told = "Your answers about hosts ended with the kaa that asked: registries/python,a.example. kaa asks again."
    assert told in second
    assert "Your answers" not in str(third)


def test_services_that_the_user_allowed_end_with_kaa_and_are_told_once(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as service:
        port = service.getsockname()[1]

        async def allowed(conversation: Conversation) -> None:
            await conversation.begin("startup")
            await conversation.submit("hello")
            await told(conversation, f"/allow {port}")
            assert list(conversation.containment.admitted) == [str(port)]

        async def again(conversation: Conversation) -> None:
            await conversation.begin("resume")
            assert list(conversation.containment.admitted) == []

        play(folder, allowed, choices=ASKING)
        second, third = play(folder, again, choices=AGAIN), play(folder, again, choices=AGAIN)

    said = f"Commands could reach services of this machine until kaa ended: {port}. /allow permits them again."
    assert said in second
    assert said not in third


async def _expect_auto(conversation: Conversation) -> None:
    assert conversation.approvals.policy == "auto"
    assert conversation.containment.network == "pypi.org"


def test_flags_win_over_what_a_session_had(folder: Path) -> None:
    async def again(conversation: Conversation) -> None:
        assert conversation.approvals.policy == "step"
        assert conversation.containment.network == "off"
        assert await writes(conversation, "a")

    play(folder, choose_all, choices=ASKING)
    flagged = ConversationOptions(
        model="m", session=ContinueSession(), approvals="step", fixed=("mode", "network", "approvals")
    )
    play(folder, again, SandboxFlags(mode="workspace-write", network="off"), flagged)


def test_without_a_sandbox_nothing_is_restored_that_was_permitted_within_one(folder: Path) -> None:
    async def choose_auto(conversation: Conversation) -> None:
        await conversation.submit("hello")
        await told(conversation, "/approvals auto")

    async def again(conversation: Conversation) -> None:
        assert conversation.approvals.policy != "auto"

    play(folder, choose_auto, choices=ASKING)
    play(folder, again, SandboxFlags(mode="full-access"), AGAIN)


def test_a_new_session_begins_with_nothing_permitted(folder: Path) -> None:
    async def again(conversation: Conversation) -> None:
        assert conversation.containment.network == "off"
        assert await writes(conversation, "a")

    play(folder, choose_all, choices=ASKING)
    notices = play(folder, again, choices=ASKING)

    assert not any(notice.startswith("Restored") for notice in notices)


@pytest.mark.parametrize("mode", ["/plan", "/approvals read-only"])
def test_a_new_session_is_not_held_to_the_mode_of_the_one_before(folder: Path, mode: str) -> None:
    options = ConversationOptions(model="m", approvals="auto")

    async def scene(host: Host, before: HostedConversation) -> None:
        await before.conversation.submit("hello")
        await told(before.conversation, mode)

        after = await host.switch(before, options.going_to(NewSession()), before.conversation.workspace)
        assert after.conversation.approvals.policy == "auto"
        assert await writes(after.conversation, "a")

        resumed = ResumeSession(str(before.conversation.session_path))
        again = await host.switch(after, options.going_to(resumed), after.conversation.workspace)
        assert again.conversation.approvals.policy == mode.removeprefix("/approvals ").removeprefix("/")
        assert not await writes(again.conversation, "a")

    play_hosted(folder, scene, choices=options)


def test_a_new_session_stays_in_the_mode_that_the_command_line_chose(folder: Path) -> None:
    options = ConversationOptions(model="m")

    async def scene(host: Host, before: HostedConversation) -> None:
        after = await host.switch(before, options.going_to(NewSession()), before.conversation.workspace)
        assert not await writes(after.conversation, "a")

    play_hosted(folder, scene, SandboxFlags(mode="read-only"), options)


def test_what_a_session_file_or_a_command_says_permits_nothing(folder: Path) -> None:
    """Choices are kept beside keys: no command can write there, and no session file holds them."""

    async def plant(conversation: Conversation) -> None:
        await conversation.submit("hello")
        kept = folder / "home" / ".kaa" / "permissions" / f"{conversation.session_id}.json"
        kept.parent.mkdir(parents=True, exist_ok=True)
        script = f"echo '{{}}' > {kept}; mkdir -p {kept.parent}/x"
        await conversation.workspace.run(CommandRequest(["sh", "-c", script], timeout=HANG_SECONDS))
        assert not list(kept.parent.iterdir())

    play(folder, plant, choices=ASKING)

    # Of another project, or where commands can write, nothing counts.
    chosen = SessionPermissions(network="on", writable=("/data",))
    folder_of_choices = folder / "kept"
    KeptPermissions(folder_of_choices, "id", "/one").save(chosen)
    assert KeptPermissions(folder_of_choices, "id", "/one").load() == chosen
    assert KeptPermissions(folder_of_choices, "id", "/other").load() == SessionPermissions()
    assert KeptPermissions(folder_of_choices, "../id", "/one").load() == SessionPermissions()
    (folder_of_choices / "id.json").write_text('{"directory": "/one", "chosen": {"mode": "full-access"}}')
    assert KeptPermissions(folder_of_choices, "id", "/one").load() == SessionPermissions()
    note_writable([str(folder_of_choices)])
    KeptPermissions(folder_of_choices, "new", "/one").save(chosen)
    assert KeptPermissions(folder_of_choices, "new", "/one").load() == SessionPermissions()
