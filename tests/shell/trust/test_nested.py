"""Trust in instructions of folders below a project: shown when somebody is asked, kept file by file."""

from pathlib import Path
from typing import cast

import pytest

from kaa.ext.asking import Asker
from kaa.ext.choices import TrustAnswer
from kaa.ext.questions import AnswerT, Dismissed, Question, Trust, TrustDecision
from kaa.shell.home import Home
from kaa.shell.project_files import project_files
from kaa.shell.trust.configuration import ProjectConfiguration, survey
from kaa.shell.trust.decisions import TrustDecisions
from kaa.shell.trust.nested import nested_names
from kaa.shell.trust.store import Changed, Trusted, TrustStore
from kaa.shell.trust.verdict import judge
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import FindResult
from tests.support.agents import run

FILES = {
    "/project/AGENTS.md": b"Use tabs.",
    "/project/web/AGENTS.md": b"In web: @docs/more.md",
    "/project/web/docs/more.md": b"Imported.",
}
NESTED = "/project/web/AGENTS.md"


class Answering(Asker):
    """Answers questions about trust, and keeps them."""

    def __init__(self, choice: TrustAnswer = "stored", *, registries: bool = False) -> None:
        self._decision = TrustDecision(choice, registries)
        self.asked: list[Trust] = []

    @property
    def can_ask(self) -> bool:
        return True

    async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
        assert isinstance(question, Trust)
        self.asked.append(question)
        return cast("AnswerT", self._decision)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "agent")


def nested(configuration: ProjectConfiguration, home: Home) -> list[str]:
    """The instructions of folders that a conversation uses."""
    found = run(project_files(home, configuration, judge("stored", configuration, home), context=True))
    return [file.text for file in found.context_files if file.paths]


def test_the_question_shows_them_with_what_they_import(home: Home) -> None:
    workspace, asker = MemoryWorkspace(FILES), Answering()

    _, configuration = run(TrustDecisions(home).decided(workspace, None, asker))

    assert [(text.path, text.text) for text in asker.asked[0].texts][1:] == [
        (NESTED, "In web: @docs/more.md\n\n[kaa: docs/more.md, imported by @]\nImported.")
    ]
    assert nested(configuration, home) == [asker.asked[0].texts[1].text]


def test_one_that_is_too_long_is_cut_and_says_so(home: Home) -> None:
    workspace = MemoryWorkspace(FILES | {NESTED: b"x" * 100_000})

    _, configuration = run(TrustDecisions(home).decided(workspace, None, Answering()))

    (text,) = nested(configuration, home)
    assert text.count("x") == 32 * 1024
    assert "[kaa: cut after 32 KiB]" in text


def test_trust_is_kept_and_needs_no_search(home: Home) -> None:
    run(TrustDecisions(home).decided(MemoryWorkspace(FILES), None, Answering()))

    class WithoutSearch(MemoryWorkspace):
        async def find(self, pattern: str, path: str = ".", limit: int = 1000) -> FindResult:
            raise AssertionError("a search")

    asker = Answering()
    choice, configuration = run(TrustDecisions(home).decided(WithoutSearch(FILES), None, asker))

    assert (choice, asker.asked) == ("stored", [])
    assert isinstance(TrustStore(home).state(configuration), Trusted)
    assert len(nested(configuration, home)) == 1


@pytest.mark.parametrize("changed", [NESTED, "/project/web/docs/more.md"])
def test_a_changed_one_or_a_changed_import_is_left_out_and_shown(home: Home, changed: str) -> None:
    run(TrustDecisions(home).decided(MemoryWorkspace(FILES), None, Answering()))
    files = FILES | {changed: FILES[changed] + b"\nObey me."}

    configuration = run(survey(MemoryWorkspace(files), home))
    state = TrustStore(home).state(configuration)

    assert isinstance(state, Changed)
    assert state.difference.changed == ("web/AGENTS.md",)
    assert "+Obey me." in state.difference.diff
    assert nested(configuration, home) == []


def test_a_new_one_is_not_trusted_and_not_asked_about_until_somebody_is_asked(home: Home) -> None:
    decisions = TrustDecisions(home)
    run(decisions.decided(MemoryWorkspace(FILES), None, Answering()))
    workspace = MemoryWorkspace(FILES | {"/project/api/CLAUDE.md": b"Api."})
    asker = Answering()

    _, configuration = run(TrustDecisions(home).decided(workspace, None, asker))
    assert asker.asked == []
    assert len(nested(configuration, home)) == 1

    run(TrustDecisions(home).review(workspace, asker))
    assert asker.asked[0].added == ("api/CLAUDE.md",)
    assert len(nested(run(survey(workspace, home)), home)) == 2


def test_until_kaa_ends_they_are_trusted_without_another_question(home: Home) -> None:
    decisions, asker = TrustDecisions(home), Answering("yes")
    run(decisions.decided(MemoryWorkspace(FILES), None, asker))

    choice, configuration = run(decisions.decided(MemoryWorkspace(FILES), None, asker))

    assert (choice, len(asker.asked)) == ("yes", 1)
    assert [file.path for file in configuration.nested] == [NESTED]


def test_one_of_a_folder_counts_and_those_of_others_do_not() -> None:
    names = ("web/AGENTS.md", "web/CLAUDE.md", "web/CLAUDE.local.md", "node_modules/x/AGENTS.md", ".x/AGENTS.md")
    workspace = MemoryWorkspace({f"/project/{name}": b"x" for name in (*names, "AGENTS.md", "api/GEMINI.md")})

    assert run(nested_names(workspace)) == ("api/GEMINI.md", "web/AGENTS.md", "web/CLAUDE.local.md")


def test_of_very_many_a_hundred_are_used() -> None:
    workspace = MemoryWorkspace({f"/project/f{number}/AGENTS.md": b"x" for number in range(300)})

    assert len(run(nested_names(workspace))) == 100
