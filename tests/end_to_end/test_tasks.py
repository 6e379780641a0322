"""Whole tasks: what a person sees, what the model is told, what is left in the project and in the session."""

import base64
import itertools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import SECRET, Kaa, conversation
from tests.support.model_server import MODEL_ID, Answer, Call, ModelServer, Tokens, Wire, call, say

pytestmark = pytest.mark.usefixtures("full_access")

_PATHS: dict[Wire, str] = {
    "openai-completions": "/v1/chat/completions",
    "anthropic-messages": "/v1/messages",
    "openai-responses": "/v1/responses",
    "google-generative-ai": f"/v1beta/models/{MODEL_ID}:streamGenerateContent?alt=sse",
}

# The smallest PNG there is: one transparent pixel.
_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def _fix_a_bug() -> list[Answer]:
    return [
        call("read", path="add.sh"),
        call("edit", path="add.sh", edits=[{"oldText": "$1 - $2", "newText": "$1 + $2"}]),
        call("bash", command="bash add.sh 2 3"),
        say("Fixed: ", "2 + 3 is 5."),
    ]


def test_reads_edits_checks_answers_and_remembers(kaa: Kaa, wire: Wire) -> None:
    (kaa.project / "add.sh").write_text("echo $(($1 - $2))\n")

    with ModelServer([*_fix_a_bug(), say("You asked me to fix add.sh.")]) as server:
        kaa.use(server, wire)
        done = kaa.run("-p", "fix add.sh")
        resumed = kaa.run("-c", "-p", "what did I ask?")

    assert (done.code, done.out) == (0, "Fixed: 2 + 3 is 5.\n")
    assert [line for line in done.err.splitlines() if line.startswith("> ")] == [
        "> read add.sh",
        "> edit add.sh",
        "> bash bash add.sh 2 3",
    ]
    assert (kaa.project / "add.sh").read_text() == "echo $(($1 + $2))\n"
    assert [request.path for request in server.requests] == [_PATHS[wire]] * 5
    before, after = server.requests[-2:]
    tool_results = [text for who, text in conversation(before) if who == "tool"]
    assert tool_results[0] == "echo $(($1 - $2))"
    assert tool_results[2] == "5"
    assert resumed.out == "You asked me to fix add.sh.\n"
    assert conversation(after) == [
        *conversation(before),
        ("assistant", "Fixed: 2 + 3 is 5."),
        ("user", "what did I ask?"),
    ]


def test_what_a_run_changed_is_written_as_a_patch_that_git_applies(kaa: Kaa, tmp_path: Path) -> None:
    (kaa.project / "add.sh").write_text("echo $(($1 - $2))\n")
    copy = shutil.copytree(kaa.project, tmp_path / "copy")
    made = call("bash", command="mkdir sub; printf 'x\\0' >sub/binary; chmod +x add.sh")
    with ModelServer([*_fix_a_bug()[:2], made, say("Done.")]) as server:
        kaa.use(server, "openai-completions")

        done = kaa.run("-p", "--patch", str(tmp_path / "fix.patch"), "fix it")

    assert done.code == 0, done.err
    subprocess.run(["git", "apply", str(tmp_path / "fix.patch")], cwd=copy, check=True)
    for name in ("add.sh", "sub/binary"):
        ours, theirs = kaa.project / name, copy / name
        assert ours.read_bytes() == theirs.read_bytes()
        assert os.access(ours, os.X_OK) == os.access(theirs, os.X_OK)


def test_prefix_of_every_request_is_sent_again_byte_for_byte(kaa: Kaa) -> None:
    (kaa.project / "add.sh").write_text("echo $(($1 - $2))\n")

    with ModelServer([*_fix_a_bug(), say("You asked me to fix add.sh.")]) as server:
        kaa.use(server, "openai-completions")
        kaa.run("-p", "fix add.sh")
        kaa.run("-c", "-p", "what did I ask?")

    bodies = [request.body for request in server.requests]
    for earlier, later in itertools.pairwise(bodies):
        assert later.startswith(earlier[: earlier.rindex(b"]}")])


@pytest.mark.parametrize(
    ("variables", "path"),
    [
        ({"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": "{url}/v1"}, "/v1/chat/completions"),
        ({"OPENAI_BASE_URL": "{url}/v1"}, "/v1/chat/completions"),
        ({"ANTHROPIC_API_KEY": SECRET, "ANTHROPIC_BASE_URL": "{url}"}, "/v1/messages"),
    ],
    ids=["openai", "openai-without-a-key", "anthropic"],
)
def test_base_url_from_the_environment(kaa: Kaa, variables: dict[str, str], path: str) -> None:
    with ModelServer([say("hello")]) as server:
        kaa.setenv(**{name: value.format(url=server.url) for name, value in variables.items()})
        done = kaa.run("-p", "hi")

    assert (done.code, done.out) == (0, "hello\n"), done.err
    assert [(request.path, request.json["model"]) for request in server.requests] == [(path, MODEL_ID)]


@pytest.mark.usefixtures("mounts")
def test_json_mode_says_everything_once(kaa: Kaa) -> None:
    words = tuple(f"word{number} " for number in range(300))
    answer = Answer(text=words, usage=Tokens(prompt=50, cached=20, output=300))

    with ModelServer([call("bash", command="echo hi"), answer]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("--mode", "json", "-p", "talk")

    events = done.events
    deltas = [event["assistantMessageEvent"] for event in events if event["type"] == "message_update"]
    text = "".join(delta["delta"] for delta in deltas if delta["type"] == "text_delta")
    assert done.code == 0
    assert events[0]["type"] == "session"
    assert (events[-1]["type"], events[-1]["reason"]) == ("agent_end", "done")
    assert text == "".join(words)
    usage = events[-1]["messages"][-1]["usage"]
    assert (usage["input"], usage["cacheRead"], usage["output"]) == (30, 20, 300)
    assert len(done.out) < 300 * 400 + 20_000


def test_piped_text_and_files_come_before_the_message(kaa: Kaa) -> None:
    (kaa.project / "notes.md").write_text("remember the milk\n")

    with ModelServer([say("ok")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "@notes.md", "summarise", stdin="a diff\n")

    ((who, text),) = conversation(server.requests[0])
    assert done.code == 0
    assert who == "user"
    assert text.index("a diff") < text.index("remember the milk") < text.index("summarise")


@pytest.mark.parametrize("messages", [["-x", "--help", "-p", "--trust now"], ["--", "- a list\n- of things"]])
def test_what_follows_two_dashes_is_a_message(kaa: Kaa, messages: list[str]) -> None:
    with ModelServer([say("Done.") for _ in messages]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "--", *messages)

    assert done.code == 0, done.err
    assert [text for who, text in conversation(server.requests[-1]) if who == "user"] == messages


def test_a_message_that_looks_like_a_flag_is_not_sent_without_them(kaa: Kaa) -> None:
    done = kaa.run("-p", "-x")

    assert done.code == 2
    assert "See kaa --help" in done.err


def test_images_are_sent_as_images_to_models_that_see(kaa: Kaa) -> None:
    (kaa.project / "dot.png").write_bytes(_PNG)

    with ModelServer([say("a dot")]) as server:
        kaa.use(server, "openai-completions", input=["text", "image"])
        done = kaa.run("-p", "@dot.png", "what is it?")

    sent = server.requests[0].json["messages"][-1]["content"]
    assert done.code == 0
    assert [part for part in sent if part["type"] == "image_url"]


def test_several_messages_are_one_conversation(kaa: Kaa) -> None:
    with ModelServer([say("one"), say("two")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "first", "second")

    assert done.out == "one\ntwo\n"
    assert conversation(server.requests[1]) == [("user", "first"), ("assistant", "one"), ("user", "second")]


def test_parallel_calls_answer_in_the_order_of_the_calls(kaa: Kaa) -> None:
    calls = (Call("bash", '{"command":"sleep 0.1; echo slow"}'), Call("bash", '{"command":"echo quick"}'))

    with ModelServer([Answer(calls=calls), say("ok")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "go")

    assert done.code == 0
    assert [text for who, text in conversation(server.requests[1]) if who == "tool"] == ["slow", "quick"]


def test_recorded_run_plays_again_without_a_server(kaa: Kaa) -> None:
    (kaa.project / "add.sh").write_text("echo $(($1 - $2))\n")
    with ModelServer(_fix_a_bug()) as server:
        kaa.use(server, "openai-responses")
        recorded = kaa.run("--record", "run.cassette", "--no-session", "-p", "fix add.sh")
    (kaa.project / "add.sh").write_text("echo $(($1 - $2))\n")

    replayed = kaa.run("--replay", "run.cassette", "--no-session", "-p", "fix add.sh")

    assert (replayed.code, replayed.out) == (recorded.code, recorded.out) == (0, "Fixed: 2 + 3 is 5.\n"), replayed.err
    assert (kaa.project / "add.sh").read_text() == "echo $(($1 + $2))\n"
    assert SECRET not in (kaa.project / "run.cassette").read_text()


def test_replay_says_where_a_run_differs_from_its_recording(kaa: Kaa) -> None:
    with ModelServer([say("hello")]) as server:
        kaa.use(server, "openai-completions")
        kaa.run("--record", "run.cassette", "--no-session", "-p", "say hello")

    replayed = kaa.run("--replay", "run.cassette", "--no-session", "-p", "say goodbye")

    assert replayed.code == 1
    assert "say goodbye" in replayed.err


def test_without_any_model_one_screen_says_how_to_get_going(kaa: Kaa) -> None:
    done = kaa.run("-p", "hi")

    assert done.code == 5
    assert done.out == ""
    assert "ANTHROPIC_API_KEY" in done.err
    assert len(done.err.splitlines()) < 24


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--no-such-flag"], "--no-such-flag"),
        (["-p"], "there is no message"),
        (["-p", "@missing.txt", "read this"], "@missing.txt does not exist"),
        (["-p", "@.", "read this"], "@. is a directory"),
        (["-c", "--no-session"], "not allowed with"),
        (["--patch", "x", "go"], "argument --patch: only with -p and --mode json"),
        (["--replay", "missing.jsonl", "-p", "hi"], "there is no recording missing.jsonl"),
    ],
)
def test_bad_usage_is_told_apart(kaa: Kaa, arguments: list[str], reason: str) -> None:
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        done = kaa.run(*arguments)

    assert (done.code, done.out, server.requests) == (2, "", [])
    assert done.err.startswith("kaa: ")
    assert reason in done.err
    assert "with find" not in done.err  # advice for the model


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--no-such-flag"], "unrecognized arguments: --no-such-flag. See kaa --help."),
        (
            ["--max-turns", "0", "-p", "go"],
            "argument --max-turns: '0' is not a whole number from 1 on. See kaa --help.",
        ),
        (["--session", "", "-p", "go"], "argument --session: the value is empty. See kaa --help."),
        (["--replay=", "-p", "go"], "argument --replay: the value is empty. See kaa --help."),
    ],
)
def test_bad_flags_are_told_in_the_last_event_too(kaa: Kaa, arguments: list[str], reason: str) -> None:
    done = kaa.run("--mode", "json", *arguments)

    assert done.code == 2
    assert done.events == [
        {"type": "agent_end", "reason": "error", "messages": [], "error": reason, "willRetry": False}
    ]
    assert done.err == f"kaa: {reason}\n"


@pytest.mark.usefixtures("mounts")
def test_slash_command_ends_in_json_mode_as_everything_does(kaa: Kaa) -> None:
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("--mode", "json", "-p", "/help")

    assert done.code == 0
    assert [event["type"] for event in done.events] == ["session", "command_reply", "agent_end"]
    assert done.events[-1]["reason"] == "done"


def test_slash_command_that_cannot_do_it_fails(kaa: Kaa) -> None:
    with ModelServer([]) as server:
        kaa.use(server, "openai-completions")

        done = kaa.run("-p", "/undo")
        told = kaa.run("--mode", "json", "-p", "/undo")

    assert (done.code, done.out) == (1, "")
    assert "there is no message to take back" in done.err
    assert told.code == 1
    assert (told.events[-1]["type"], told.events[-1]["reason"]) == ("agent_end", "error")


def test_slash_command_of_the_terminal_is_not_sent_to_the_model(kaa: Kaa) -> None:
    with ModelServer([]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "/fullscreen")
        told = kaa.run("--mode", "json", "-p", "/theme light")

    assert (done.code, done.out, server.requests) == (1, "", [])
    assert "/fullscreen needs the interactive terminal" in done.err
    assert (told.code, told.events[-1]["reason"]) == (1, "error")
    assert "/theme needs the interactive terminal" in told.events[-1]["error"]


def test_slash_command_that_does_not_exist_is_not_sent_to_the_model_but_paths_are(kaa: Kaa) -> None:
    (kaa.project / "own.py").write_text(
        "from kaa.ext.api import Reply\n"
        "async def mine(arguments, context):\n"
        "    return Reply(f'mine: {arguments}')\n"
        "def extend(api):\n"
        "    api.register_command('my_cmd', 'Mine', mine)\n"
        "    api.register_command('skill:hello', 'Hello', mine)\n"
        "    async def broken(arguments, context):\n"
        "        return 1 / 0\n"
        "    api.register_command('broken', 'Broken', broken)\n"
    )
    with ModelServer([say("A path."), say("A text."), say("Piped.")]) as server:
        kaa.use(server, "openai-completions")
        mistyped = kaa.run("-e", "own.py", "-p", "/my_cdm x")
        told = kaa.run("-e", "own.py", "--mode", "json", "-p", "/skill:helo")
        known = kaa.run("-e", "own.py", "-p", "/skill:hello you")
        needless = kaa.run("-p", "/new hello there")
        broken = kaa.run("-e", "own.py", "-p", "/broken")
        assert server.requests == []
        path = kaa.run("-e", "own.py", "-p", "/usr/bin/x is broken")
        text = kaa.run("-e", "own.py", "-p", " /my_cdm is misspelt")
        piped = kaa.run("-e", "own.py", "-p", "what is this?", stdin="/tmp is full")

    assert mistyped.code == 1
    assert "unknown command /my_cdm; did you mean /my_cmd? To send it as text, put a space before it" in mistyped.err
    assert (told.code, told.events[-1]["reason"]) == (1, "error")
    assert "did you mean /skill:hello?" in told.events[-1]["error"]
    assert (known.code, known.out) == (0, "mine: you\n")
    assert (needless.code, needless.out) == (1, "")
    assert "/new takes no arguments" in needless.err
    assert broken.code == 1
    assert "ZeroDivisionError" in broken.err
    assert (path.code, text.code, piped.code) == (0, 0, 0)


def test_slash_command_of_an_extension_may_be_called_like_one_of_the_terminal(kaa: Kaa) -> None:
    (kaa.project / "own.py").write_text(
        "from kaa.ext.api import Reply\n"
        "async def theme(arguments, context):\n"
        "    return Reply('love')\n"
        "def extend(api):\n"
        "    api.register_command('theme', 'Show a theme', theme)\n"
    )
    with ModelServer([]) as server:
        kaa.use(server, "openai-completions")

        done = kaa.run("-e", "own.py", "-p", "/theme")

    assert (done.code, done.out) == (0, "love\n")


def test_end_of_json_mode_is_the_last_line_even_if_the_recording_goes_on(kaa: Kaa) -> None:
    with ModelServer([call("bash", command="true"), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        kaa.run("--record", "tape.jsonl", "-p", "go")
    done = kaa.run("--replay", "tape.jsonl", "--max-turns", "1", "--mode", "json", "-p", "go")

    assert done.events[-1]["type"] == "agent_end"
    assert "1 recorded replies were not used" in done.err


def test_file_that_cannot_be_attached_is_told_in_plain_words(kaa: Kaa) -> None:
    os.mkfifo(kaa.project / "fifo")

    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "@fifo", "summarise")

    assert (done.code, done.err) == (
        2,
        "kaa: @fifo cannot be read: Not a regular file but a named pipe\n",
    )


def test_files_outside_the_project_are_attached_with_the_rights_of_the_user(kaa: Kaa, tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("ERROR 42")
    (tmp_path / "app.log").chmod(0o600)
    (kaa.project.parent / ".ssh").mkdir()
    (kaa.project.parent / ".ssh" / "id_test").write_text("a key")

    with ModelServer([say("Read.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("--sandbox", "workspace-write", "-p", f"@{tmp_path}/app.log", "@~/.ssh/id_test", "summarise")

    sent = server.requests[0].body.decode()
    assert (done.code, done.out) == (0, "Read.\n")
    assert "ERROR 42" in sent
    assert "a key" in sent
    assert "id_test may hold secrets, and is sent to the model" in done.err


@pytest.mark.usefixtures("mounts")
def test_a_report_in_tmp_is_found_by_the_user_after_the_run(kaa: Kaa) -> None:
    with ModelServer(
        [call("write", path="/tmp/kaa-report.html", content="<p>"), say("See /tmp/kaa-report.html.")]
    ) as it:
        kaa.use(it, "openai-completions")
        done = kaa.run("--sandbox", "workspace-write", "-p", "write a report")

    told = re.search(r"/tmp/kaa-report\.html is (\S+): commands have their own /tmp", done.err)
    assert told is not None
    assert Path(told[1]).read_text() == "<p>"


def test_base_url_without_a_scheme_is_explained(kaa: Kaa) -> None:
    kaa.setenv(OPENAI_BASE_URL="localhost:8080/v1")

    done = kaa.run("--model", "openai/m", "-p", "go")

    assert (done.code, done.out) == (1, "")
    assert "it must begin with http:// or https://" in done.err


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_no_obstacle(kaa: Kaa, closed: str) -> None:
    with ModelServer([call("bash", command="touch done"), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run_in_shell(f'"$KAA" -p "touch it" {closed}')

    assert (done.code, done.out) == (0, "" if ">&-" in closed.split() else "Done.\n")
    assert (kaa.project / "done").exists()


def test_turn_limit_ends_the_run_with_its_own_code(kaa: Kaa) -> None:
    with ModelServer([call("bash", command="true"), call("bash", command="true")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("--max-turns", "2", "--mode", "json", "-p", "loop")

    assert done.code == 4
    assert (done.events[-1]["type"], done.events[-1]["reason"]) == ("agent_end", "max_turns")
    assert "2 turns" in done.err


def test_a_misspelled_model_is_answered_in_one_line(kaa: Kaa) -> None:
    kaa.setenv(ANTHROPIC_API_KEY=SECRET, HTTPS_PROXY="http://127.0.0.1:9")  # what is sent would fail

    done = kaa.run("-p", "--model", "gpt5", "go")

    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.startswith("kaa: ")
    assert "openai/gpt-5 " in line


def test_piped_text_is_never_a_command(kaa: Kaa) -> None:
    with ModelServer([say("I see.")]) as server:
        kaa.use(server, "openai-responses")
        done = kaa.run("-p", stdin="\n/export out.html\n")

    assert (done.code, done.out) == (0, "I see.\n")
    assert conversation(server.requests[0]) == [("user", " /export out.html")]
    assert not (kaa.project / "out.html").exists()
