import asyncio

from kaa.builtin.project_facts import ProjectFacts, facts_of
from kaa.workspace.memory import MemoryWorkspace
from tests.support.tables import each


def facts(files: dict[str, str]) -> ProjectFacts:
    workspace = MemoryWorkspace({name: text.encode() for name, text in files.items()})
    return asyncio.run(facts_of(workspace))


@each(
    ("files", "languages", "tests"),
    [
        ({}, (), ()),
        ({"notes.txt": ""}, (), ()),
        ({"pyproject.toml": "[tool.pytest.ini_options]"}, ("Python",), ("pytest",)),
        ({"setup.py": "", "tests/conftest.py": ""}, ("Python",), ("pytest",)),
        ({"pyproject.toml": "pytest", "uv.lock": ""}, ("Python (uv)",), ("uv run pytest",)),
        ({"requirements.txt": "requests"}, ("Python",), ()),
        ({"package.json": '{"scripts": {"test": "vitest"}}'}, ("JavaScript",), ("npm test",)),
        (
            {"package.json": '{"scripts": {"test": "jest"}}', "pnpm-lock.yaml": "", "tsconfig.json": "{}"},
            ("JavaScript (pnpm)", "TypeScript"),
            ("pnpm test",),
        ),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\""}}'}, ("JavaScript",), ()),
        (
            {"package.json": '{"scripts": {"test": "node --test"}}', "test_basket.py": "import unittest\n"},
            ("JavaScript", "Python"),
            ("npm test", "python3 -m unittest"),
        ),
        (
            {"package.json": "{}", "test_basket.py": "def test_it(): ...\n", "basket.js": ""},
            ("JavaScript", "Python"),
            ("pytest",),
        ),
        ({"Cargo.toml": ""}, ("Rust",), ("cargo test",)),
        (
            {"go.mod": "", "Makefile": "build:\n\ntest: build\n\tgo test ./...\n"},
            ("Go",),
            ("make test", "go test ./..."),
        ),
        ({"Makefile": "check:\n\t./run\n"}, (), ("make check",)),
        ({"Makefile": "test := 1\ntests:\n"}, (), ()),
        (
            {
                "package.json": '{"scripts": {"test": "vitest"}}',
                "AGENTS.md": "Run `python -m pytest tests -q`.\n",
            },
            ("JavaScript",),
            ("python -m pytest tests -q", "npm test"),
        ),
        ({"CLAUDE.md": "# Tests\n\n    make test\n"}, (), ("make test",)),
        ({"AGENTS.md": "pytest is slow. `pytest; rm x` and `npm test | tee log`"}, (), ()),
        ({"justfile": "test *args:\n  pytest\n"}, (), ("just test",)),
    ],
)
def test_manifests_say_what_a_project_is(
    files: dict[str, str], languages: tuple[str, ...], tests: tuple[str, ...]
) -> None:
    found = facts(files)

    assert (found.languages, found.tests) == (languages, tests)


@each("content", ["", "[]", '{"scripts": 5}', '{"scripts": {"test": 5}}', "{", '{"scripts": null}'])
def test_a_broken_manifest_says_nothing_of_tests(content: str) -> None:
    assert facts({"package.json": content}) == ProjectFacts(("JavaScript",), ())
