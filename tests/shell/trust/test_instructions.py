"""Permanent trust in AGENTS.md and its like: in what is found, in the store, and in what the model gets."""

import asyncio
from pathlib import Path

import pytest

from kaa.ext.questions import Dismissed, TrustDecision
from kaa.shell.conversation import Conversation
from kaa.shell.home import Home
from kaa.shell.options import ConversationOptions
from kaa.shell.trust.configuration import ProjectConfiguration, survey
from kaa.shell.trust.instructions import find_instructions
from kaa.shell.trust.store import Changed, Trusted, TrustStore, Undecided
from kaa.shell.trust.verdict import judge
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import say
from tests.support.person import Person
from tests.support.stage import Stage

ROOT = "/work/repo/package"
_TERMINAL = ConversationOptions(model="m", trust=None)
_SCRIPT = ConversationOptions(model="m", trust="instructions")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "agent")


def surveyed(home: Home, root: str = ROOT, **files: str) -> ProjectConfiguration:
    """What is found in files of these names, `__` for a slash."""
    named = {f"/work/{name.replace('__', '/')}": text.encode() for name, text in files.items()}
    return run(survey(MemoryWorkspace(named, root=root), home))


class TestWhereTheyAreFound:
    @pytest.mark.parametrize("mark", [".git/HEAD", ".git"], ids=["repository", "worktree"])
    def test_trust_extends_to_the_root_of_the_repository_and_not_above(self, mark: str) -> None:
        files = {f"/work/{where}AGENTS.md": b"x" for where in ("", "repo/", "repo/package/")}
        workspace = MemoryWorkspace({**files, f"/work/repo/{mark}": b"ref"}, root=ROOT)

        found = run(find_instructions(workspace)).files

        assert [(file.name, file.standing) for file in found] == [
            ("../../AGENTS.md", "above"),
            ("../AGENTS.md", "project"),
            ("AGENTS.md", "project"),
        ]

    def test_without_a_repository_only_the_project_counts(self) -> None:
        files = {f"/work/{where}AGENTS.md": b"x" for where in ("repo/", "repo/package/")}

        found = run(find_instructions(MemoryWorkspace(files, root=ROOT))).files

        assert [file.standing for file in found] == ["above", "project"]

    def test_a_link_out_of_its_folder_cannot_be_trusted(self, home: Home) -> None:
        async def scene(project: Path) -> None:
            workspace = LocalWorkspace.start(str(project))
            try:
                configuration = await survey(workspace, home)
            finally:
                await workspace.close()
            assert not configuration.texts
            store = TrustStore(home)
            store.trust(configuration)
            assert store.trusted_files(configuration) == frozenset()

        with folder_elsewhere() as folder:
            (folder / "project").mkdir()
            (folder / "secret").write_text("key")
            (folder / "project" / "AGENTS.md").symlink_to(folder / "secret")
            run(scene(folder / "project"))

    def test_only_what_is_used_of_a_huge_file_is_read(self, home: Home) -> None:
        configuration = surveyed(home, **{"repo__package__AGENTS.md": "x" * 200_000})

        assert [len(text.data) for text in configuration.texts] == [32 * 1024 + 1]


class TestTheStore:
    def test_a_changed_byte_ends_trust_in_that_file_alone(self, home: Home) -> None:
        store = TrustStore(home)
        files = {"repo__.git__HEAD": "x", "repo__AGENTS.md": "above", "repo__package__AGENTS.md": "tabs"}
        store.trust(surveyed(home, **files))

        changed = surveyed(home, **{**files, "repo__package__AGENTS.md": "tabS"})
        state = store.state(changed)

        assert isinstance(state, Changed)
        assert state.difference.changed == ("AGENTS.md",)
        assert "-tabs\n+tabS" in state.difference.diff
        assert store.trusted_files(changed) == {"../AGENTS.md"}

    def test_trust_in_one_directory_covers_no_other_files(self, home: Home) -> None:
        files = {
            "repo__.git__HEAD": "x",
            "repo__AGENTS.md": "same",
            "repo__package__AGENTS.md": "same",
            "repo__other__AGENTS.md": "same",
            "repo__package__inner__AGENTS.md": "same",
        }
        TrustStore(home).trust(surveyed(home, **files))

        trusted_there = {"/work/repo": (), "/work/repo/other": (), f"{ROOT}/inner": ("../AGENTS.md", "../../AGENTS.md")}
        for root, names in trusted_there.items():  # below it, the very files that were trusted
            configuration = surveyed(home, root, **files)
            assert TrustStore(home).state(configuration) == Undecided()
            assert TrustStore(home).trusted_files(configuration) == frozenset(names)

    def test_a_file_that_takes_the_place_of_a_trusted_one_is_not_trusted(self, home: Home) -> None:
        store = TrustStore(home)
        store.trust(surveyed(home, **{"repo__package__CLAUDE.md": "tabs"}))

        both = surveyed(home, **{"repo__package__CLAUDE.md": "tabs", "repo__package__AGENTS.md": "obey"})

        assert isinstance(store.state(both), Changed)
        assert store.trusted_files(both) == frozenset()

    def test_a_change_of_the_text_leaves_the_configuration_trusted_and_the_other_way_round(self, home: Home) -> None:
        before = {"repo__package__AGENTS.md": "tabs", "repo__package__.kaa__SYSTEM.md": "kind"}
        TrustStore(home).trust(surveyed(home, **before))

        text = judge("stored", surveyed(home, **{**before, "repo__package__AGENTS.md": "obey"}), home)
        configuration = judge("stored", surveyed(home, **{**before, "repo__package__.kaa__SYSTEM.md": "obey"}), home)

        assert (text.configuration, text.instructions) == (True, frozenset())
        assert (configuration.configuration, configuration.instructions) == (False, frozenset({f"{ROOT}/AGENTS.md"}))
        assert "it has changed since you trusted it" in (configuration.notice or "")

    def test_it_says_since_when(self, home: Home) -> None:
        configuration = surveyed(home, **{"repo__package__AGENTS.md": "tabs"})
        TrustStore(home).trust(configuration)

        assert TrustStore(home).state(configuration) == Trusted()
        assert TrustStore(home).since(configuration).endswith(" UTC")


def sent(stage: Stage, options: ConversationOptions) -> str:
    """The system prompt of a conversation."""

    async def ask(conversation: Conversation) -> None:
        await conversation.submit("hello")

    stage.server.begin([say("hi")])
    stage.play(ask, options)
    return prompt_of(stage)


def prompt_of(stage: Stage) -> str:
    return str(stage.server.requests[-1].json["messages"][0]["content"])


INSTRUCTS = '<instructions path="/project/AGENTS.md">'
INFORMS = '<project-file path="/project/AGENTS.md">'


@pytest.fixture
def project(stage: Stage) -> Stage:
    stage.files["/project/AGENTS.md"] = b"Use tabs.\n"
    return stage


class TestInAConversation:
    def test_one_question_shows_the_text_and_is_remembered(self, project: Stage) -> None:
        person = project.asker = Person(TrustDecision("stored"))

        assert INSTRUCTS in sent(project, _TERMINAL)
        assert INSTRUCTS in sent(project, _TERMINAL)

        (question,) = person.questions
        assert [(text.path, text.text) for text in question.texts] == [("/project/AGENTS.md", "Use tabs.\n")]

    def test_a_refusal_is_remembered_too(self, project: Stage) -> None:
        person = project.asker = Person(TrustDecision("no"))
        sent(project, _TERMINAL)
        project.files["/project/AGENTS.md"] += b"More.\n"

        assert INFORMS in sent(project, _TERMINAL)
        assert len(person.questions) == 1

    def test_who_was_asked_is_not_told_how_to_be_asked(self, project: Stage) -> None:
        project.asker = Person(Dismissed())
        sent(project, _TERMINAL)

        assert not [notice for notice in project.notices if "/trust" in notice]

    def test_a_change_shows_the_difference_and_informs_until_it_is_answered(self, project: Stage) -> None:
        person = project.asker = Person(TrustDecision("stored"), Dismissed(), TrustDecision("stored"))
        sent(project, _TERMINAL)
        project.files["/project/AGENTS.md"] += b"Obey.\n"

        assert INFORMS in sent(project, _TERMINAL)
        assert INSTRUCTS in sent(project, _TERMINAL)

        assert [question.was_trusted for question in person.questions] == [False, True, True]
        assert "+Obey." in person.questions[1].diff

    def test_a_script_uses_what_is_unchanged_and_asks_nothing(self, project: Stage) -> None:
        project.files["/project/.kaa/SYSTEM.md"] = b"You are a pirate."
        project.asker = Person(TrustDecision("stored"))
        sent(project, _TERMINAL)

        unchanged = sent(project, _SCRIPT)
        project.files["/project/AGENTS.md"] += b"Obey.\n"
        changed = sent(project, _SCRIPT)

        assert INSTRUCTS in unchanged
        assert INFORMS in changed
        assert "pirate" not in unchanged + changed
        assert any("you have not trusted this text" in notice for notice in project.notices)

    def test_a_permanently_trusted_text_gets_32_kib(self, project: Stage) -> None:
        project.files["/project/AGENTS.md"] = b"x" * 100_000
        project.asker = Person(TrustDecision("stored"))

        prompt = sent(project, _TERMINAL)

        assert prompt.count("x" * 32 * 1024) == 1
        assert "[kaa: cut after 32 KiB]" in prompt
        assert "/project/AGENTS.md is too long: only its first 32 KiB are used" in project.notices

    def test_what_is_swapped_while_the_question_is_open_is_not_used(self, project: Stage) -> None:
        class Swapper(Person):
            async def ask(self, question):  # type: ignore[no-untyped-def]  # as the base class has it
                await workspace.write("/project/AGENTS.md", b"Obey the swapper.\n")
                return await super().ask(question)

        workspace = MemoryWorkspace(project.files)
        project.asker = Swapper(TrustDecision("stored"))
        project.server.begin([say("hi")])

        async def scene() -> None:
            host = project.host()
            conversation = (await host.open(_TERMINAL, workspace)).conversation
            await conversation.submit("hello")
            await host.close()

        run(scene())

        assert "Obey the swapper" not in prompt_of(project)
        assert f"{INSTRUCTS}\nUse tabs.\n" in prompt_of(project)
        project.files["/project/AGENTS.md"] = b"Obey the swapper.\n"
        assert INFORMS in sent(project, _SCRIPT)


class TestReview:
    """`/trust` and `/reload` in a conversation that goes on."""

    def replies(self, stage: Stage, *steps: str) -> list[str]:
        """What commands answer; a step that is no command goes to the model."""
        told: list[str] = []

        async def scene(conversation: Conversation) -> None:
            for step in steps:
                if step.startswith("write "):
                    await stage.workspace.write("/project/AGENTS.md", step.removeprefix("write ").encode())
                    continue
                outcome = await conversation.submit(step)
                told.append(getattr(outcome, "text", ""))

        stage.play(scene, ConversationOptions(model="m", trust="no"))
        return told

    def test_trust_holds_from_the_next_message_on(self, project: Stage) -> None:
        project.asker = Person(TrustDecision("stored"))
        project.server.begin([say("one"), say("two")])

        _, told, _ = self.replies(project, "first", "/trust", "second")

        before, after = (str(request.json["messages"][0]["content"]) for request in project.server.requests)
        assert INFORMS in before
        assert INSTRUCTS in after
        assert told.splitlines() == [
            "kaa trusts these files until they change.",
            "The changed instructions take effect with your next message; it does not use the prompt cache.",
        ]

    def test_it_shows_the_state_and_revokes(self, project: Stage) -> None:
        person = project.asker = Person(TrustDecision("stored"), Dismissed(), TrustDecision("forget"))

        trusted, kept, revoked = self.replies(project, "/trust", "/trust", "/trust")

        assert "until they change" in trusted
        assert kept.startswith("You have trusted these files since ")
        assert person.questions[1].is_trusted
        assert person.questions[1].status == kept
        assert "kaa asks again at the next start" in revoked
        assert INFORMS in sent(project, _SCRIPT)

    def test_reload_reads_the_text_again_and_trusts_only_what_was_trusted(self, project: Stage) -> None:
        project.asker = Person(TrustDecision("stored"))
        project.server.begin([say("one")])

        replies = self.replies(project, "/trust", "write Obey.", "/reload", "go on")

        assert "The changed instructions take effect" in replies[1]
        assert f"{INFORMS}\nObey.\n" in prompt_of(project)

    def test_once_means_the_text_that_was_shown(self, project: Stage) -> None:
        project.asker = Person(TrustDecision("yes"))
        project.server.begin([say("one"), say("two")])

        self.replies(project, "/trust", "one", "write Obey.", "/reload", "two")

        first, second = (str(request.json["messages"][0]["content"]) for request in project.server.requests)
        assert INSTRUCTS in first
        assert INFORMS in second


def test_two_conversations_at_once_ask_once(project: Stage) -> None:
    person = project.asker = Person(Dismissed())

    async def scene() -> None:
        host = project.host()
        workspace = MemoryWorkspace(project.files)
        await asyncio.gather(*(host.open(_TERMINAL, workspace) for _ in range(2)))
        await host.close()

    run(scene())

    assert len(person.questions) == 1
