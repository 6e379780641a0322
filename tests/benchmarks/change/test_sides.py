import subprocess
from pathlib import Path

import pytest

from benchmarks.change.sides import SetupError, Side, changed_sources, check_checkout, commit_of, sides, workplace
from tests.benchmarks.change.small_kaa import Checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "checkout")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "temporary"
    path.mkdir()
    return path


def in_kaa(side: Side, expression: str, *options: str) -> str:
    command = [str(side.python), *options, "-c", f"import kaa.cli, sys; print({expression})"]
    return subprocess.run(command, env={}, capture_output=True, encoding="utf-8", check=True).stdout.strip()


def test_a_folder_without_git_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="is not a git checkout"):
        check_checkout(tmp_path)


def test_a_folder_of_another_checkout_is_refused(checkout: Checkout) -> None:
    with pytest.raises(SetupError, match="belongs to"):
        check_checkout(checkout.sources)


def test_an_unknown_base_is_refused(checkout: Checkout) -> None:
    with pytest.raises(SetupError, match="no commit 'nowhere'"):
        commit_of(checkout.path, "nowhere")


def test_a_base_that_looks_like_an_option_is_only_a_name(checkout: Checkout) -> None:
    with pytest.raises(SetupError, match="no commit '--all'"):
        commit_of(checkout.path, "--all")


def test_uncommitted_changes_of_the_sources_are_found(checkout: Checkout) -> None:
    (checkout.path / "notes.txt").touch()
    assert changed_sources(checkout.path) == []

    (checkout.sources / "new.py").touch()
    checkout.write("main = print")
    assert sorted(changed_sources(checkout.path)) == ["src/kaa/cli.py", "src/kaa/new.py"]


def test_each_side_runs_its_own_sources_however_python_is_started(checkout: Checkout, folder: Path) -> None:
    base = commit_of(checkout.path, "HEAD")
    checkout.write("SIDE = 'now'")

    with sides(checkout.path, base, folder) as both:
        for side in both:
            for option in ("-I", "-P"):
                assert in_kaa(side, "kaa.__file__", option) == str(side.sources / "kaa" / "__init__.py")
        assert in_kaa(both[0], "hasattr(kaa.cli, 'main')") == "True"
        assert in_kaa(both[1], "kaa.cli.SIDE") == "now"


def test_each_side_has_the_packages_of_the_environment(checkout: Checkout, folder: Path) -> None:
    with sides(checkout.path, "HEAD", folder) as both:
        for side in both:
            assert in_kaa(side, "__import__('msgspec').__name__", "-I") == "msgspec"


def test_what_is_changed_meanwhile_is_not_measured(checkout: Checkout, folder: Path) -> None:
    with sides(checkout.path, "HEAD", folder) as (_, now):
        checkout.write("raise SystemExit('changed')")

        assert in_kaa(now, "hasattr(kaa.cli, 'main')") == "True"


def test_the_worktree_is_removed_at_the_end(checkout: Checkout, folder: Path) -> None:
    with sides(checkout.path, "HEAD", folder):
        assert len(checkout.worktrees()) == 2

    assert checkout.worktrees() == [str(checkout.path)]


def test_the_worktree_is_removed_after_a_failure(checkout: Checkout, folder: Path) -> None:
    with pytest.raises(ZeroDivisionError), sides(checkout.path, "HEAD", folder):
        raise ZeroDivisionError

    assert checkout.worktrees() == [str(checkout.path)]


def test_the_worktree_is_removed_if_its_folder_is_gone(checkout: Checkout, folder: Path) -> None:
    with sides(checkout.path, "HEAD", folder) as (base, _):
        base.sources.parent.rename(folder / "elsewhere")

    assert checkout.worktrees() == [str(checkout.path)]


def test_a_base_that_cannot_be_imported_is_refused_with_its_last_words(checkout: Checkout, folder: Path) -> None:
    (checkout.sources / "__init__.py").write_text("import no_such_package")
    checkout.commit()
    (checkout.sources / "__init__.py").write_text("")

    with (
        pytest.raises(SetupError, match=r"base cannot import kaa.*(\n.*)*No module named 'no_such_package'"),
        sides(checkout.path, "HEAD", folder),
    ):
        pass

    assert checkout.worktrees() == [str(checkout.path)]


def test_a_base_without_kaa_is_refused(checkout: Checkout, folder: Path) -> None:
    checkout.git("rm", "-q", "-r", "--cached", "src")
    checkout.git("-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "-m", "Remove kaa")

    with pytest.raises(SetupError, match="base has no sources of kaa"), sides(checkout.path, "HEAD", folder):
        pass


def test_a_repository_that_takes_no_worktrees_is_reported(checkout: Checkout, folder: Path) -> None:
    (checkout.path / ".git" / "worktrees").touch()

    with pytest.raises(SetupError, match="git cannot make a worktree of"), sides(checkout.path, "HEAD", folder):
        pass


def test_hooks_of_the_user_do_not_run(checkout: Checkout, folder: Path) -> None:
    hook = checkout.path / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {folder}/ran\n")
    hook.chmod(0o755)

    with sides(checkout.path, "HEAD", folder):
        assert not (folder / "ran").exists()


def test_the_workplace_is_removed_at_the_end(checkout: Checkout, folder: Path) -> None:
    with workplace(checkout.path, folder) as place:
        (place / "something").mkdir()
        assert place.parent == folder

    assert list(folder.iterdir()) == []


def test_a_workplace_that_does_not_exist_is_refused(checkout: Checkout, folder: Path) -> None:
    with pytest.raises(SetupError, match="it cannot be written"), workplace(checkout.path, folder / "missing"):
        pass


def test_temporary_folders_of_the_system_are_not_chosen(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sandbox replaces them, so projects there do not behave as those of users."""
    monkeypatch.setenv("HOME", "/tmp")

    with (
        pytest.raises(SetupError, match=r"kaa's sandbox replaces /tmp, .* --folder DIR"),
        workplace(Path("/tmp/checkout")),
    ):
        pass
