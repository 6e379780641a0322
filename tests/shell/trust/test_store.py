import os
import stat
from pathlib import Path

import msgspec
import pytest

from kaa.shell.home import Home
from kaa.shell.trust.configuration import ConfigurationFile, ProjectConfiguration, TrustError
from kaa.shell.trust.instructions import InstructionFile
from kaa.shell.trust.store import (
    Changed,
    DeclinedTrust,
    NothingToTrust,
    Trusted,
    TrustStore,
    Undecided,
    Untrustable,
)


def configuration(root: str = "/work/project", **files: str | bytes) -> ProjectConfiguration:
    found = (
        ConfigurationFile(f".kaa/{name}", "file", data if isinstance(data, bytes) else data.encode())
        for name, data in files.items()
    )
    return ProjectConfiguration(root, tuple(sorted(found, key=lambda file: file.path)))


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(Home(tmp_path / "agent"))


def test_nobody_was_asked_yet(store: TrustStore) -> None:
    assert store.state(configuration(a="1")) == Undecided()
    assert store.state(configuration()) == NothingToTrust()


def test_trust_holds_for_what_was_there(store: TrustStore, tmp_path: Path) -> None:
    store.trust(configuration(a="1"))

    assert TrustStore(Home(tmp_path / "agent")).state(configuration(a="1")) == Trusted()


def test_trust_holds_for_one_directory(store: TrustStore) -> None:
    store.trust(configuration("/work", a="1"))

    assert store.state(configuration("/work/project", a="1")) == Undecided()
    assert store.state(configuration("/", a="1")) == Undecided()


def above(name: str = "AGENTS.md", data: bytes = b"Use tabs.", **files: str) -> ProjectConfiguration:
    """A package of a repository whose instructions lie two directories above it."""
    one = InstructionFile("/work/AGENTS.md", f"../../{name}", data, "project")
    return msgspec.structs.replace(configuration("/work/packages/beta", **files), instructions=(one,))


@pytest.fixture
def repository(store: TrustStore) -> TrustStore:
    """Somebody trusts a repository with instructions and a setting."""
    one = InstructionFile("/work/AGENTS.md", "AGENTS.md", b"Use tabs.", "project")
    store.trust(msgspec.structs.replace(configuration("/work", a="1"), instructions=(one,)))
    return store


def test_the_same_files_are_trusted_in_a_directory_below(repository: TrustStore) -> None:
    assert repository.state(above()) == Trusted()
    assert repository.trusted_files(above()) == {"../../AGENTS.md"}
    assert repository.since(above())


def test_other_files_of_a_directory_below_are_asked_about(repository: TrustStore) -> None:
    assert repository.state(above(a="1")) == Undecided()
    assert repository.trusted_files(above(a="1")) == {"../../AGENTS.md"}
    assert repository.state(above(data=b"Use spaces.")) == Undecided()
    assert repository.trusted_files(above(data=b"Use spaces.")) == frozenset()
    assert repository.state(above("../AGENTS.md")) == Undecided()


def test_an_answer_for_the_directory_itself_comes_before_those_above(repository: TrustStore) -> None:
    repository.decline(above())
    assert repository.state(above()) == DeclinedTrust()

    repository.forget(above())
    assert isinstance(repository.state(above()), Changed)
    assert repository.trusted_files(above()) == frozenset()


def test_a_declined_directory_trusts_nothing_below(repository: TrustStore) -> None:
    repository.decline(configuration("/work", a="1"))

    assert repository.state(above()) == Undecided()


def test_instructions_of_folders_are_known_below(store: TrustStore) -> None:
    nested = InstructionFile("/work/packages/beta/src/AGENTS.md", "packages/beta/src/AGENTS.md", b"x", "project")
    store.trust(msgspec.structs.replace(configuration("/work", a="1"), nested=(nested,)))

    assert store.nested_names("/work/packages/beta") == ["src/AGENTS.md"]
    assert store.nested_names("/work/packages/gamma") == []


def test_a_project_without_configuration_can_be_trusted_for_its_instructions(store: TrustStore) -> None:
    store.trust(configuration())

    assert store.state(configuration()) == Trusted()
    assert isinstance(store.state(configuration(evil="1")), Changed)


def test_a_change_asks_again_and_shows_what_changed(store: TrustStore) -> None:
    store.trust(configuration(a="one\ntwo\nthree\n", gone="g\n", same="s"))

    state = store.state(configuration(a="one\n2\nthree\n", new="n\n", same="s"))

    assert isinstance(state, Changed)
    change = state.difference
    assert (change.added, change.removed, change.changed) == ((".kaa/new",), (".kaa/gone",), (".kaa/a",))
    lines = change.diff.splitlines()
    assert {"-two", "+2", "+n", "-g"} <= set(lines)
    assert "s" not in {line[1:] for line in lines}


def test_a_change_that_only_touches_line_ends_shows(store: TrustStore) -> None:
    store.trust(configuration(a="x\ny"))

    state = store.state(configuration(a="x\r\ny"))

    assert isinstance(state, Changed)
    assert "-x\n+x\r" in state.difference.diff


def test_kind_and_executable_bit_are_a_change(store: TrustStore) -> None:
    store.trust(configuration(a="1", b="/etc/passwd"))

    state = store.state(
        ProjectConfiguration(
            "/work/project",
            (
                ConfigurationFile(".kaa/a", "file", b"1", executable=True),
                ConfigurationFile(".kaa/b", "link", b"/etc/passwd"),
            ),
        )
    )

    assert isinstance(state, Changed)
    assert state.difference.diff.splitlines() == [".kaa/a: can be executed now", ".kaa/b: was a file, is a link"]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"x" * 300_000])
def test_what_cannot_be_compared_is_still_named(store: TrustStore, content: bytes) -> None:
    store.trust(configuration(a=content))

    state = store.state(configuration(a=content + b"\n"))

    assert isinstance(state, Changed)
    assert state.difference.changed == (".kaa/a",)
    assert state.difference.diff.startswith(".kaa/a: ")


def test_a_long_difference_is_shown_as_a_whole(store: TrustStore) -> None:
    store.trust(configuration(a="same\n" + "old\n" * 1_500 + "end\n"))

    state = store.state(configuration(a="same\n" + "new\n" * 1_500 + "evil\nend\n"))

    assert isinstance(state, Changed)
    lines = state.difference.diff.splitlines()
    assert lines[2] == "@@ -1,1502 +1,1503 @@"
    assert (lines.count("-old"), lines.count("+new")) == (1_500, 1_500)
    assert lines[-3:] == ["+new", "+evil", " end"]


@pytest.mark.parametrize("content", [b"# coding: latin-1\n# \xe4\nevil\n", b"y = 1\n" * 50_000 + b"evil\n"])
def test_what_cannot_be_compared_is_shown_as_it_is_now(store: TrustStore, content: bytes) -> None:
    store.trust(configuration(a=content.replace(b"evil\n", b"")))

    state = store.state(configuration(a=content))

    assert isinstance(state, Changed)
    lines = state.difference.diff.splitlines()
    assert any(".kaa/a: there is no text to compare it with: all of it as it is now" in line for line in lines)
    assert "+evil" in lines or lines[0].startswith("Not all that differs is shown here")


def test_what_is_left_out_of_a_long_difference_is_said_first(store: TrustStore) -> None:
    store.trust(configuration(a="1\n"))

    state = store.state(configuration(a="new\n" * 30_000))

    assert isinstance(state, Changed)
    lines = state.difference.diff.splitlines()
    assert lines[0].startswith("Not all that differs is shown here: it is too much.")
    assert lines[-1] == "… 20004 more lines of .kaa/a differ"


def test_many_long_files_are_compared_in_a_moment(store: TrustStore) -> None:
    names = [f"f{number:04}" for number in range(1_500)]
    store.trust(configuration(**dict.fromkeys(names, "old\n" * 100)))

    state = store.state(configuration(**dict.fromkeys(names, "new\n" * 100)))

    assert isinstance(state, Changed)
    lines = state.difference.diff.splitlines()
    assert len(lines) < 12_000
    assert lines[-1].endswith("and those behind it by name")


def test_a_long_difference_hides_no_other_one(store: TrustStore) -> None:
    store.trust(configuration(a="old\n", z="old\n"))

    state = store.state(configuration(a="new\n" * 900, z="evil\n", new="added\n" * 900))

    assert isinstance(state, Changed)
    diff = state.difference.diff
    assert "+evil" in diff
    assert diff.index("+evil") < diff.index("+added")


def test_a_decline_is_for_whatever_comes(store: TrustStore) -> None:
    store.decline(configuration(a="1"))

    assert store.state(configuration(a="2")) == DeclinedTrust()
    assert store.state(ProjectConfiguration("/work/project", problem="too much")) == DeclinedTrust()


def test_decisions_can_be_changed_and_forgotten(store: TrustStore) -> None:
    store.decline(configuration(a="1"))
    store.trust(configuration(a="1"))
    assert store.state(configuration(a="1")) == Trusted()

    store.forget(configuration(a="1"))
    assert store.state(configuration(a="1")) == Undecided()


def test_what_nobody_can_answer_for_is_not_trusted(store: TrustStore) -> None:
    too_much = ProjectConfiguration("/work/project", problem="it has more than 500 files")

    assert store.state(too_much) == Untrustable("it has more than 500 files")
    with pytest.raises(TrustError, match="more than 500 files"):
        store.trust(too_much)


def test_directories_may_have_any_name(store: TrustStore) -> None:
    store.trust(configuration(os.fsdecode(b"/work/\xff"), a="1"))

    assert store.state(configuration(os.fsdecode(b"/work/\xff"), a="1")) == Trusted()
    assert store.state(configuration(os.fsdecode(b"/work/\xfe"), a="1")) == Undecided()


class TestTheFile:
    def test_is_the_user_s_alone(self, store: TrustStore, tmp_path: Path) -> None:
        store.trust(configuration(a="1"))

        assert stat.S_IMODE((tmp_path / "agent" / "trust.json").stat().st_mode) == 0o600
        assert stat.S_IMODE((tmp_path / "agent").stat().st_mode) == 0o700

    def test_that_others_can_write_is_not_believed(self, store: TrustStore, tmp_path: Path) -> None:
        store.trust(configuration(a="1"))
        (tmp_path / "agent" / "trust.json").chmod(0o666)

        with pytest.raises(TrustError, match="chmod 600"):
            store.state(configuration(a="1"))

    @pytest.mark.parametrize("content", ["[]", "{", '{"/work": {"decision": "perhaps"}}', "\udcff"])
    def test_with_a_mistake_is_named_and_kept(self, store: TrustStore, tmp_path: Path, content: str) -> None:
        store.trust(configuration(a="1"))
        file = tmp_path / "agent" / "trust.json"
        file.write_bytes(os.fsencode(content))

        with pytest.raises(TrustError, match=r"trust\.json"):
            store.state(configuration(a="1"))
        with pytest.raises(TrustError, match=r"trust\.json"):
            store.trust(configuration(a="1"))

        assert file.read_bytes() == os.fsencode(content)

    def test_keeps_what_another_process_decided_meanwhile(self, store: TrustStore, tmp_path: Path) -> None:
        other = TrustStore(Home(tmp_path / "agent"))

        store.trust(configuration("/one", a="1"))
        other.decline(configuration("/two", a="1"))

        assert store.state(configuration("/one", a="1")) == Trusted()
        assert store.state(configuration("/two", a="1")) == DeclinedTrust()


def test_of_two_with_one_path_both_have_to_be_what_was_trusted(store: TrustStore) -> None:
    store.trust(configuration(a="1", b="2"))
    other = ConfigurationFile(".kaa/a", "file", b"evil")

    found = configuration(a="1", b="2")
    both = ProjectConfiguration(found.root, (*found.files, other))

    assert store.trusted_files(found) == {".kaa/a", ".kaa/b"}
    assert store.trusted_files(both) == {".kaa/b"}


def test_of_two_with_one_path_both_have_to_be_what_was_trusted_above(store: TrustStore) -> None:
    store.trust(configuration("/work", a="1"))
    store.carry_over("/work/copied", "/copy")
    one = ConfigurationFile("../.kaa/a", "file", b"1")
    other = ConfigurationFile("x/../../.kaa/a", "file", b"evil")

    assert store.state(ProjectConfiguration("/copy", (one,))) == Trusted()
    for files in ((one, other), (other, one)):
        assert store.state(ProjectConfiguration("/copy", files)) != Trusted()
