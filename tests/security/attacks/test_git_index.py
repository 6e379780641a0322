"""A command writes an index by hand that leads `git status` to a repository where the guard does not look by itself.

The canary is a file outside that only a program run outside can make.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.security.attacks.play import git, play
from tests.support.elsewhere import folder_elsewhere

pytestmark = pytest.mark.usefixtures("confined")

_COMMIT = "git -c user.name=x -c user.email=x@example.com commit -q --allow-empty -m x"
_CHANGE = 'python3 -c \'import sys, hashlib; p, a, b = sys.argv[1:]; d = open(p, "rb").read()[:-20]; \
d = d.replace(bytes.fromhex(a), bytes.fromhex(b)); open(p, "wb").write(d + hashlib.sha1(d).digest())\''


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    with folder_elsewhere() as folder:
        yield Kaa(folder)


@pytest.mark.parametrize("mode", ["0000e001", "ffffe1ff"])
def test_status_executes_nothing_behind_a_gitlink_with_an_odd_mode(kaa: Kaa, canary: Path, mode: str) -> None:
    inner = "sub/node_modules/x"
    link = "git -C sub update-index --add --cacheinfo 160000,$(git -C sub/node_modules/x rev-parse HEAD),node_modules/x"

    play(
        kaa,
        f"set -e; git init -q sub; git init -q {inner}; (cd {inner}; {_COMMIT}); "
        f"export GIT_INDEX_FILE=$(mktemp -d)/index; {link}; "
        f"{_CHANGE} $GIT_INDEX_FILE 0000e000 {mode}; cp $GIT_INDEX_FILE sub/.git/index; unset GIT_INDEX_FILE; "
        f"git -C {inner} config core.fsmonitor {canary.with_name('evil')}",
    )
    git(kaa, "status", at="sub")

    assert (kaa.project / inner).is_dir()
    assert not canary.exists()


def test_status_executes_nothing_below_a_directory_of_a_sparse_index(kaa: Kaa, canary: Path) -> None:
    tree = (
        'tree=$(printf "160000 commit $(git -C ../x rev-parse HEAD)\\tx\\n" | git mktree --missing); '
        'tree=$(printf "040000 tree $tree\\tnode_modules\\n" | git mktree)'
    )

    play(
        kaa,
        f"set -e; git init -q x; (cd x; {_COMMIT}); git init -q sub; cd sub; "
        f"mkdir keep left; touch keep/a; echo x > left/b; git add .; {_COMMIT}; "
        f"git sparse-checkout set --cone --sparse-index keep; {tree}; "
        f"{_CHANGE} .git/index $(git rev-parse HEAD:left) $tree; mkdir -p left/node_modules; "
        "cp -r ../x left/node_modules/x; "
        f"git -C left/node_modules/x config core.fsmonitor {canary.with_name('evil')}",
    )
    git(kaa, "status", at="sub")

    assert (kaa.project / "sub/left/node_modules/x").is_dir()
    assert not canary.exists()
