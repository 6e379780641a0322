"""Context files besides AGENTS.md: names of other agents, and rules, as they are found, trusted and given."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from kaa.ext.api import ContextFile
from kaa.shell.home import Home
from kaa.shell.project_files import ProjectFiles, project_files
from kaa.shell.trust.configuration import ProjectConfiguration, survey
from kaa.shell.trust.store import TrustStore
from kaa.shell.trust.verdict import judge
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run

ROOT = "/work/project"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "agent")


def surveyed(home: Home, files: dict[str, str]) -> ProjectConfiguration:
    named = {f"/work/{name}": text.encode() for name, text in files.items()}
    return run(survey(MemoryWorkspace(named, root=ROOT), home))


def used(home: Home, files: dict[str, str], *, trusted: bool = True) -> ProjectFiles:
    configuration = surveyed(home, files)
    verdict = judge("yes" if trusted else "no", configuration, home)
    return run(project_files(home, configuration, verdict, context=True))


def texts(home: Home, **files: str) -> list[str]:
    """The texts in the project of files with these names: `__` for a slash, `_md` for `.md`."""
    named = {f"project/{name.replace('__', '/').replace('_md', '.md')}": text for name, text in files.items()}
    return [file.text for file in used(home, named).context_files]


class TestNames:
    def test_an_override_replaces_the_file_of_its_folder_alone(self, home: Home) -> None:
        files = {"AGENTS.md": "above", "project/AGENTS.md": "agents", "project/AGENTS.override.md": "override"}

        assert [file.text for file in used(home, files).context_files] == ["above", "override"]

    def test_the_first_of_the_names_is_used(self, home: Home) -> None:
        files = {
            "AGENTS_md": "agents",
            "CLAUDE_md": "claude",
            "GEMINI_md": "gemini",
            ".claude__CLAUDE_md": "folder",
            ".github__copilot-instructions_md": "copilot",
            ".cursorrules": "cursor",
            ".windsurfrules": "windsurf",
            ".clinerules": "cline",
        }
        seen = []
        while files:
            seen += texts(home, **files)
            files.pop(next(iter(files)))

        assert seen == ["agents", "claude", "gemini", "folder", "copilot", "cursor", "windsurf", "cline"]

    def test_local_notes_come_in_addition(self, home: Home) -> None:
        assert texts(home, CLAUDE_md="claude", **{"CLAUDE.local_md": "mine"}) == ["claude", "mine"]

    def test_the_same_text_counts_once_and_the_trusted_one_stays(self, home: Home) -> None:
        files = {"AGENTS.md": "same\n", "project/AGENTS.md": "same", "project/CLAUDE.local.md": "same"}
        store = TrustStore(home)
        configuration = surveyed(home, files)
        store.trust(configuration)

        found = run(project_files(home, configuration, judge("stored", configuration, home), context=True))

        assert [(file.path, file.trusted) for file in found.context_files] == [(f"{ROOT}/AGENTS.md", True)]

    def test_an_empty_file_hides_no_other(self, home: Home) -> None:
        assert texts(home, **{"AGENTS.override_md": "", "AGENTS_md": " \n", "CLAUDE_md": "claude"}) == ["claude"]

    def test_a_file_in_utf_16_is_read_as_text(self, home: Home) -> None:
        for encoding in ("utf-16-le", "utf-16-be"):
            files = {f"{ROOT}/AGENTS.md": ("\ufeff" + "Tabs für ä. " * 2_000).encode(encoding)}
            configuration = run(survey(MemoryWorkspace(files, root=ROOT), home))

            [file] = run(
                project_files(home, configuration, judge("yes", configuration, home), context=True)
            ).context_files

            assert file.text.lstrip("\ufeff").startswith("Tabs für ä. Tabs")
            assert file.text.endswith("[kaa: the rest is left out]")

    def test_a_file_with_other_words_that_is_passed_over_is_named(self, home: Home) -> None:
        def notices(**files: str) -> tuple[str, ...]:
            return used(home, {f"project/{name.replace('_', '.')}": text for name, text in files.items()}).notices

        assert notices(AGENTS_md="agents", CLAUDE_md="claude") == (
            f"{ROOT}/CLAUDE.md is not used, because AGENTS.md is: a line @CLAUDE.md there adds it",
        )
        assert notices(AGENTS_md="same", CLAUDE_md="same\n") == ()
        assert notices(AGENTS_md="agents", CLAUDE_md="See AGENTS.md.") == ()
        assert notices(AGENTS_md="agents\n@CLAUDE.md\n", CLAUDE_md="claude") == ()

    def test_a_binary_file_is_named_and_left_out(self, home: Home) -> None:
        found = used(home, {"project/AGENTS.md": "\0" * 100})

        assert found.context_files == ()
        assert found.notices == (f"{ROOT}/AGENTS.md is not used: it is a binary file",)


CLAUDE, CURSOR = "project/.claude/rules", "project/.cursor/rules"


class TestRules:
    def test_those_for_all_files_are_in_the_prompt_and_others_are_not(self, home: Home) -> None:
        found = used(
            home,
            {
                "project/AGENTS.md": "agents",
                f"{CLAUDE}/all.md": "All.",
                f"{CLAUDE}/web/api.md": '---\npaths: ["src/api/**/*.ts"]\n---\nValidate.',
                f"{CURSOR}/test.mdc": "---\nglobs: *.spec.ts\n---\nMock nothing.",
                f"{CURSOR}/readme.md": "no rule",
            },
        )

        assert found.context_files == (
            ContextFile(f"{ROOT}/AGENTS.md", "agents"),
            ContextFile(f"{ROOT}/.claude/rules/all.md", "All."),
            ContextFile(f"{ROOT}/.claude/rules/web/api.md", "Validate.", paths=("src/api/**/*.ts",)),
            ContextFile(f"{ROOT}/.cursor/rules/test.mdc", "Mock nothing.", paths=("**/*.spec.ts",)),
        )

    def test_those_of_windsurf_are_read(self, home: Home) -> None:
        folder = "project/.windsurf/rules"
        found = used(
            home,
            {
                f"{folder}/all.md": "---\ntrigger: always_on\n---\nAll.",
                f"{folder}/web.md": "---\ntrigger: glob\nglobs: src/*.ts\n---\nWeb.",
            },
        )

        assert found.context_files == (
            ContextFile(f"{ROOT}/.windsurf/rules/all.md", "All."),
            ContextFile(f"{ROOT}/.windsurf/rules/web.md", "Web.", paths=("src/*.ts",)),
        )

    def test_those_of_copilot_and_cline_are_read(self, home: Home) -> None:
        copilot, cline = "project/.github/instructions", "project/.clinerules"
        found = used(
            home,
            {
                f"{copilot}/all.instructions.md": '---\napplyTo: "**"\n---\nAll.',
                f"{copilot}/web.instructions.md": '---\napplyTo: "src/**/*.ts, src/**/*.tsx"\n---\nWeb.',
                f"{copilot}/manual.instructions.md": "Only when named.",
                f"{copilot}/notes.md": "no rule",
                f"{cline}/tabs.md": "Tabs.",
            },
        )

        assert found.context_files == (
            ContextFile(f"{ROOT}/.clinerules/tabs.md", "Tabs."),
            ContextFile(f"{ROOT}/.github/instructions/all.instructions.md", "All."),
            ContextFile(
                f"{ROOT}/.github/instructions/web.instructions.md", "Web.", paths=("src/**/*.ts", "src/**/*.tsx")
            ),
        )

    def test_rules_above_the_project_count_as_far_as_the_repository_goes(self, home: Home) -> None:
        files = {
            ".claude/rules/all.md": "All.",
            ".claude/rules/ours.md": '---\npaths: ["project/src/*.ts"]\n---\nOurs.',
            ".claude/rules/theirs.md": '---\npaths: ["other/**"]\n---\nTheirs.',
            f"{CLAUDE}/own.md": "Own.",
        }

        inside = used(home, {**files, ".git/HEAD": "ref"})
        outside = used(home, files)

        assert inside.context_files == (
            ContextFile("/work/.claude/rules/all.md", "All."),
            ContextFile("/work/.claude/rules/ours.md", "Ours.", paths=("src/*.ts",)),
            ContextFile(f"{ROOT}/.claude/rules/own.md", "Own."),
        )
        assert [file.text for file in outside.context_files] == ["Own."]

    def test_a_rule_that_only_describes_itself_is_named_for_the_model_to_read(self, home: Home) -> None:
        found = used(
            home,
            {f"{CURSOR}/a.mdc": "---\ndescription: How to release\n---\nTag.", f"{CURSOR}/manual.mdc": "---\n---\nX"},
        )

        assert [file.text for file in found.context_files] == [
            f"Read {ROOT}/.cursor/rules/a.mdc when it fits the task: How to release"
        ]

    def test_a_rule_is_trusted_as_a_text_of_its_own(self, home: Home) -> None:
        files = {f"{CLAUDE}/a.md": "A", f"{CLAUDE}/b.md": "B"}
        store = TrustStore(home)
        store.trust(surveyed(home, files))

        configuration = surveyed(home, {**files, f"{CLAUDE}/b.md": "Obey."})
        found = run(project_files(home, configuration, judge("stored", configuration, home), context=True))

        assert [(file.text, file.trusted) for file in found.context_files] == [("A", True), ("Obey.", False)]
        assert [text.name for text in configuration.texts] == [".claude/rules/a.md", ".claude/rules/b.md"]

    def test_untrusted_rules_get_together_as_much_room_as_one_file(self, home: Home) -> None:
        found = used(home, {f"{CLAUDE}/{number}.md": str(number) * 5_000 for number in range(3)}, trusted=False)

        assert [len(file.text) for file in found.context_files] == [5_000]
        assert sum("the rules for all files are too long together" in notice for notice in found.notices) == 2

    def test_an_invalid_glob_is_named(self, home: Home) -> None:
        found = used(home, {f"{CLAUDE}/a.md": '---\npaths: ["src/{a", "*.py"]\n---\nA'})

        assert [file.paths for file in found.context_files] == [("*.py",)]
        assert found.notices == (
            f"{ROOT}/.claude/rules/a.md: the glob 'src/{{a' is ignored, because a brace is not closed",
        )

    def test_too_many_and_binary_ones_are_named(self, home: Home) -> None:
        found = used(
            home, {f"{CLAUDE}/{number:03}.md": f"rule {number}" for number in range(120)} | {f"{CLAUDE}/x.md": "\0"}
        )

        assert len(found.context_files) == 100
        assert ".claude/rules/x.md is not used: it is a binary file" in found.notices
        assert "120 rules were found: only the first 100 are used" in found.notices


def test_a_project_without_such_files_costs_three_requests(home: Home) -> None:
    class Counting(MemoryWorkspace):
        requests = 0

        async def read_existing(self, paths: Sequence[str], max_bytes: int) -> dict[str, bytes]:
            self.requests += 1
            return await super().read_existing(paths, max_bytes)

        async def stat(self, path: str):  # type: ignore[no-untyped-def]  # as the base class has it
            self.requests += 1
            return await super().stat(path)

        async def list(self, path: str):  # type: ignore[no-untyped-def]  # as the base class has it
            self.requests += 1
            return await super().list(path)

    workspace = Counting({"/work/project/a.py": b"x"}, root=ROOT)
    run(survey(workspace, home))

    assert workspace.requests == 3
