"""approvals.json: nothing is lost, nothing is made up, nothing can be slipped in."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kaa.shell.approvals.rule_file import ApprovalRules, ApprovalsError, RuleFile, parse_rules
from kaa.shell.approvals.rules import parse_rule
from tests.support.patience import HANG_SECONDS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "approvals.json"


def kept(path: Path, content: object) -> RuleFile:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    path.chmod(0o600)
    return RuleFile(path)


def test_without_a_file_there_are_no_rules(path: Path) -> None:
    assert RuleFile(path).load() == ApprovalRules()
    assert not path.parent.exists()


def test_rules_are_kept_privately_and_read_again(path: Path) -> None:
    os.umask(0o022)

    RuleFile(path).allow([parse_rule("bash: npm test"), parse_rule("write: 'ü'/**")])

    assert RuleFile(path).load() == parse_rules(["bash: npm test", "write: 'ü'/**"], [], "test")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [entry.name for entry in path.parent.iterdir()] == ["approvals.json"]


def test_what_is_there_stays(path: Path) -> None:
    file = kept(path, {"note": [1], "allow": ["bash: ls"], "deny": ["bash: rm"]})

    rules = file.allow([parse_rule("bash: ls"), parse_rule("deploy")])

    assert rules == parse_rules(["bash: ls", "deploy"], ["bash: rm"], "test")
    assert json.loads(path.read_text()) == {"note": [1], "allow": ["bash: ls", "deploy"], "deny": ["bash: rm"]}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", "is not a JSON object"),
        ("[]", "is not a JSON object"),
        ({"allow": "bash: ls"}, r"Expected lists of rules.*|.*\$\.allow"),
        ({"allow": [5]}, r"\$\.allow"),
        ({"allow": ["bash: *"]}, "would allow every command"),
        ({"deny": ["outside x"]}, "leave out 'outside'"),
    ],
)
def test_a_broken_file_is_an_error_that_names_it_and_is_left_alone(path: Path, content: object, expected: str) -> None:
    file = kept(path, content)
    before = path.read_bytes()

    with pytest.raises(ApprovalsError, match=expected) as error:
        file.load()
    with pytest.raises(ApprovalsError, match=expected):
        file.allow([parse_rule("bash: ls")])

    assert str(path) in str(error.value)
    assert path.read_bytes() == before


def test_a_symbolic_link_is_refused(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.json"
    kept(target, {"allow": ["bash: ls"]})
    path.parent.mkdir(mode=0o700)
    path.symlink_to(target)

    with pytest.raises(ApprovalsError, match="symbolic link"):
        RuleFile(path).load()
    with pytest.raises(ApprovalsError, match="symbolic link"):
        RuleFile(path).allow([parse_rule("bash: rm x")])
    assert json.loads(target.read_text()) == {"allow": ["bash: ls"]}


def test_a_file_that_others_can_change_is_refused(path: Path) -> None:
    file = kept(path, {})
    path.chmod(0o666)

    with pytest.raises(ApprovalsError, match="chmod 600"):
        file.load()


def test_two_kaas_that_add_at_the_same_time_both_keep_theirs(path: Path) -> None:
    source = (
        "import sys\n"
        "from pathlib import Path\n"
        "from kaa.shell.approvals.rule_file import RuleFile\n"
        "from kaa.shell.approvals.rules import parse_rule\n"
        "for number in range(20):\n"
        "    RuleFile(Path(sys.argv[1])).allow([parse_rule(f'bash: {sys.argv[2]}{number}')])\n"
    )
    others = [subprocess.Popen([sys.executable, "-c", source, path, name]) for name in "ab"]

    assert [other.wait(HANG_SECONDS) for other in others] == [0, 0]
    assert len(RuleFile(path).load().allow) == 40


def test_a_mistake_in_the_settings_is_named_with_its_place() -> None:
    with pytest.raises(ApprovalsError, match=r"^settings\.json: 'git status' is no rule"):
        parse_rules(["git status"], [], "settings.json")
