"""Which files a command runs by its words."""

from kaa.shell.approvals.scripts import files_described, files_named
from tests.support.tables import each


@each(
    ("command", "files"),
    [
        ("sh deploy.sh", ["deploy.sh"]),
        ("sh -e deploy.sh", ["deploy.sh"]),
        ("sh deploy.sh -c prod", ["deploy.sh"]),
        ("bash -lc code", []),
        ("bash -exc code", []),
        ("python3 deploy.py -e prod", ["deploy.py", "prod"]),
        ("python3 deploy.py -m prod", ["deploy.py"]),
        ("python3.12 -Ic code", []),
        ("python3 -ccode", []),
        ("python3 -m module", []),
        ("node --require ./x.js -e 1", ["./x.js"]),
        ("node --require=./x.js -e 1", ["./x.js"]),
        ("ruby -r./x -e 1", ["./x"]),
        ("perl -ne print notes", []),
        ("awk -f x.awk notes", ["x.awk"]),
        ("gawk --file=x.awk notes", ["x.awk"]),
        ("sed -nfx.sed notes", ["x.sed"]),
        ("sed -e p notes", []),
        ("./tool x", ["./tool"]),
        ("cat notes", []),
    ],
)
def test_files_named_by_words(command: str, files: list[str]) -> None:
    assert list(files_named(tuple(command.split()))) == files


@each(
    ("command", "described"),
    [
        ("make", True),
        ("python3 -m module", True),
        ("python3", True),
        ("sh -x", True),
        ("python3 -c code", False),
        ("sh -c code", False),
        ("python3 deploy.py -m x", False),
        ("cat", False),
    ],
)
def test_programs_that_look_for_what_they_run(command: str, described: bool) -> None:
    assert bool(list(files_described(tuple(command.split())))) is described
