"""What a line of a shell in the user's files names of what commands of the model can write, and whether it says all."""

from pathlib import Path

import pytest

from kaa.host.helper_lines import named_path, says_all, without_reading
from kaa.host.paths import is_below


class Land:
    """A home with a project in which commands could write."""

    def __init__(self, home: Path) -> None:
        self.home, self.project = str(home), str(home / "work/app")
        (home / "work/app").mkdir(parents=True)
        (home / "work/app/key.sh").touch()
        (home / "bin").mkdir()
        (home / "link.sh").symlink_to("work/app/key.sh")
        self.environ = {"HOME": self.home, "TOOLS": f"{self.project}/tools"}

    def judged(self, line: str) -> str:
        line = without_reading(line)
        if named_path(line, self.environ, self.home, lambda path: is_below(path, (self.project,))):
            return "refused"
        return "runs" if says_all(line, self.environ, self.home, (self.project,)) else "runs without the project"


@pytest.fixture
def land(tmp_path: Path) -> Land:
    return Land(tmp_path.resolve() / "home")


@pytest.mark.parametrize(
    "line",
    [
        "~/work/app/key.sh",
        "sh work/app/key.sh",
        "sh link.sh",
        "$TOOLS/key",
        "pass x | ~/work/app/filter",
        "k=$HOME/work/app/x; $k",
        "cat ~/work/app/key.sh | sh",
        "head -5 work/app/key.sh | cat | sh -s",
        "base64 -w0 work/app/key.sh | base64 -d | sh",
    ],
)
def test_what_a_line_names_plainly_is_refused(land: Land, line: str) -> None:
    assert land.judged(line) == "refused"


@pytest.mark.parametrize(
    "line",
    [
        "cd work && sh app/key.sh",
        "p=app; sh work/$p/key.sh",
        "sh ~/work/$(echo app)/key.sh",
        "sh ~/work/[b]pp/key.sh",
        "find . -name key.sh -exec sh {} ';'",
        "make -C work -f app/Makefile",
        "make -Cwork -f app/Makefile",
        "env -C ~/work sh app/key.sh",
        "tool --directory=work",
        "sh -c 'cd work; sh app/key.sh'",
        "eval x",
        "make -fwork/app/Makefile",
        "perl -Iwork/app/lib -MKey -e 1",
        "awk -fwork/app/x.awk",
        "ssh -Fwork/app/cfg h",
        "env -Swork/app/key.sh",
        "tool -cwork/app/key.sh",
        "python3 -m work.app.key",
        "python3 -c 'import work.app.key'",
        "op run -- python3 -m work.app.key",
        "tool ~root/x",
        "op read x; tool",
    ],
)
def test_what_a_line_may_name_in_another_way_is_hidden_from_it(land: Land, line: str) -> None:
    assert land.judged(line) == "runs without the project"


@pytest.mark.parametrize(
    "line",
    [
        "pass show work/llm",
        "op read 'op://Private/key (1)/credential'",
        "op item get key --fields label=key | head -1",
        "security find-generic-password -s 'kaa (key)' -w",
        "~/bin/key --for kaa",
        "cat ~/work/app/key.txt",
        "jq -r '.keys | .[0]' work/app/key.json | head -1",
        "op read x 2>&1 | grep -v '|' | tr -d x",
        "gpg -qd ~/work/app/key.gpg 2>/dev/null | tr -d x",
    ],
)
def test_ordinary_lines_run_as_they_are(land: Land, line: str) -> None:
    assert land.judged(line) == "runs"
