"""Rules of Claude Code and Cursor: for which files they are, whatever their fields say."""

import random

import pytest

from kaa.components.frontmatter import document_in
from kaa.components.rule import InstructionRule, RuleDialect, matches, rule_in, seen_from
from tests.support.tables import each


def rule(head: str, dialect: RuleDialect = "claude") -> InstructionRule:
    return rule_in(document_in(f"---\n{head}\n---\nUse tabs.\n"), dialect)


class TestClaude:
    def test_a_rule_without_paths_is_for_all_files(self) -> None:
        assert rule("title: x") == InstructionRule("Use tabs.", always=True)
        assert rule_in(document_in("Use tabs."), "claude").always

    @pytest.mark.parametrize(
        "head",
        [
            'paths:\n  - "src/**/*.ts"\n  - "*.md"',
            'paths: ["src/**/*.ts", "*.md"]',
            "paths: src/**/*.ts, *.md",
            'paths: "./src/**/*.ts, /*.md"',
        ],
    )
    def test_paths_are_a_list_or_a_text(self, head: str) -> None:
        assert rule(head).globs == ("src/**/*.ts", "*.md")
        assert not rule(head).always

    def test_braces_hold_alternatives(self) -> None:
        assert rule('paths: "{src,lib}/**/*.{ts,tsx}"').globs == (
            "src/**/*.ts",
            "src/**/*.tsx",
            "lib/**/*.ts",
            "lib/**/*.tsx",
        )

    @pytest.mark.parametrize(
        ("glob", "why"),
        [
            ("src/{a,b", "a brace is not closed"),
            ("../*.py", "it does not name files of the project"),
            ("x" * 600, "more than 512 characters"),
            ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "more than 64 globs"),
            ("*/" * 40 + "x", "more than 32 parts"),
        ],
    )
    def test_an_invalid_glob_is_named_and_the_others_are_used(self, glob: str, why: str) -> None:
        found = rule(f'paths: ["{glob}", "*.py"]')

        assert found.globs == ("*.py",)
        assert why in found.notes[0]

    def test_a_rule_whose_globs_are_all_invalid_is_for_no_file(self) -> None:
        found = rule('paths: "{"')

        assert (found.globs, found.always) == ((), False)


class TestCursor:
    def test_globs_that_are_no_yaml(self) -> None:
        found = rule("description: Tests\nglobs: *.spec.ts,src/*.js\nalwaysApply: false", "cursor")

        assert found == InstructionRule("Use tabs.", "Tests", ("**/*.spec.ts", "src/*.js"))

    def test_always(self) -> None:
        assert rule("globs: *.ts\nalwaysApply: true", "cursor").globs == ()
        assert rule("globs:\nalwaysApply: true", "cursor").always

    def test_a_rule_that_only_describes_itself(self) -> None:
        found = rule("description: How to release\nglobs:\nalwaysApply: false", "cursor")

        assert (found.description, found.globs, found.always) == ("How to release", (), False)


def test_a_rule_of_windsurf_says_by_its_trigger_when_it_counts() -> None:
    always = rule("trigger: always_on", "windsurf")
    some = rule("trigger: glob\nglobs: *.ts", "windsurf")
    manual = rule("trigger: manual", "windsurf")

    assert (always.always, some.always, manual.always) == (True, False, False)
    assert (some.globs, manual.globs) == (("**/*.ts",), ())


@each(
    ("glob", "path", "expected"),
    [
        ("*.md", "README.md", True),
        ("*.md", "docs/a.md", False),  # as the documentation of Claude Code says
        ("**/*.md", "README.md", True),
        ("**/*.md", "docs/deep/a.md", True),
        ("src/**/*", "src/a.py", True),
        ("src/**/*", "src/a/b.py", True),
        ("src/**", "src/a/b.py", True),
        ("src/**/*", "lib/src/a.py", False),
        ("src/?.py", "src/a.py", True),
        ("src/[ab].py", "src/c.py", False),
        ("src/[ab", "src/[ab", True),
    ],
)
def test_which_files_a_glob_means(glob: str, path: str, expected: bool) -> None:
    assert matches((glob,), path) is expected


def test_a_folder_means_the_files_in_it() -> None:
    assert matches(rule('paths: "docs/"').globs, "docs/deep/a.md")


@each(
    ("glob", "expected"),
    [
        ("**/*.py", ("**/*.py",)),
        ("packages/**", ("**",)),
        ("packages/*/src/*.py", ("src/*.py",)),
        ("packages/**/one/*.py", ("**/one/*.py", "*.py")),
        ("packages/two/**", ()),
        ("*.py", ()),
        ("packages/one", ()),
    ],
)
def test_globs_are_seen_from_a_folder(glob: str, expected: tuple[str, ...]) -> None:
    assert set(seen_from([glob], "packages/one")) == set(expected)


def test_seen_from_a_folder_globs_mean_the_same_files() -> None:
    source = random.Random(3)
    for _ in range(2_000):
        glob = "/".join(source.choices(["**", "*", "a", "b"], k=source.randint(1, 5)))
        folder, path = ("/".join(source.choices("ab", k=source.randint(1, 3))) for _ in range(2))

        assert matches(seen_from([glob], folder), path) == matches([glob], f"{folder}/{path}"), (glob, folder, path)


def test_a_glob_that_would_backtrack_ends() -> None:
    path = "/".join(["a" * 200] * 30)

    assert not matches(("**/" * 15 + "*a" * 20 + "b",), path)
    assert not matches(("**/*a*" * 15 + "b",), path)
