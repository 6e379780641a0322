import asyncio

from kaa.builtin.completion_check.ending import runnable
from kaa.workspace.memory import MemoryWorkspace
from tests.support.tables import each


@each(
    ("files", "changed", "commands"),
    [
        ({"a.py": ""}, "a.py", ()),
        ({"a.py": "", "README.md": "run pytest"}, "a.py", ()),
        ({"Makefile": "test:\n", "pytest.ini": ""}, "a.py", ("make test", "pytest")),
        ({"Makefile": "all:\n\tcc a.c\n"}, "a.c", ("make",)),
        ({"package.json": '{"scripts": {"build": "tsc", "lint": 7}}'}, "a.ts", ()),
        ({"package.json": '{"scripts": {"build": "tsc", "start": "x"}}'}, "a.ts", ("npm run build",)),
        ({"test_a.py": "import unittest"}, "a.py", ("python3 -m unittest",)),
        ({"tests/test_a.py": "import unittest"}, "a.py", ("python3 -m unittest discover -s tests",)),
        ({"tests/test_a.py": "def test_a(): ..."}, "a.py", ("pytest tests",)),
        ({"sub dir/test_a.py": "import a\nassert a.f()"}, "sub dir/a.py", ("python3 'sub dir/test_a.py'",)),
        ({"lib/a.test.mjs": ""}, "lib/a.mjs", ("node --test lib",)),
        ({"a.test.js": ""}, "a.js", ("node --test",)),
        ({"run_tests.sh": ""}, "", ("sh run_tests.sh",)),
    ],
)
def test_what_could_be_run_is_found(files: dict[str, str], changed: str, commands: tuple[str, ...]) -> None:
    workspace = MemoryWorkspace({name: text.encode() for name, text in files.items()})

    assert asyncio.run(runnable(workspace, [changed])) == commands
