import os
import subprocess
import sys
from pathlib import Path

import pytest

_KAA = [sys.executable, "-c", "import sys; from kaa.cli import run; sys.exit(run(sys.argv[1:]))"]
_RECORDING = Path(__file__).parent / "anthropic_messages.jsonl"
_PROJECT = Path(__file__).parents[2] / "src/kaa/demo/project"


def kaa(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))}
    environment |= {"KAA_DIR": str(cwd / "home"), "TMPDIR": str(cwd)}
    return subprocess.run(  # noqa: PLW1510 - the exit code is what tests look at
        [*_KAA, *arguments], cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


def test_the_demo_mends_the_bug_and_says_what_is_real(tmp_path: Path) -> None:
    done = kaa("demo", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    told = done.stdout
    steps = [
        "NameError: name 'pirce' is not defined",
        "recorded from a real model",
        "> read",
        "> edit",
        "> bash",
        "+    return price + shipping",
        "\n  | OK",
        "The bug is fixed",
    ]
    places = [told.index(step) for step in steps]
    assert places == sorted(places)


def test_the_demo_s_project_really_works_afterwards(tmp_path: Path) -> None:
    kaa("demo", cwd=tmp_path)

    (stage,) = [folder for folder in tmp_path.glob("kaa-demo-*") if folder.is_dir()]
    left = {path.name for path in stage.iterdir()}
    tested = subprocess.run([sys.executable, "test_basket.py"], cwd=stage, capture_output=True, check=False)

    assert tested.returncode == 0
    # No compiled code: an edit of the same length within the same second would leave it in force.
    assert left == {"basket.py", "test_basket.py"}


def test_the_demo_takes_no_arguments(tmp_path: Path) -> None:
    assert kaa("demo", "--help", cwd=tmp_path).returncode == 0
    assert kaa("demo", "please", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("mode", ["text", "json"])
@pytest.mark.usefixtures("confined")
def test_a_run_of_a_real_model_over_anthropic_messages_replays(tmp_path: Path, mode: str) -> None:
    for source in _PROJECT.glob("*.py"):
        (tmp_path / source.name).write_bytes(source.read_bytes())
    question = (
        "test_basket.py fails: NameError: name 'pirce' is not defined. Read basket.py, fix the bug with edit, "
        "then run python3 test_basket.py. If all tests passed, stop and say what was wrong."
    )

    done = kaa("--replay", str(_RECORDING), "-t", "read,edit,bash", "--mode", mode, "-p", question, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "All tests passed." in done.stdout
    assert "return price + shipping" in (tmp_path / "basket.py").read_text()


def test_a_reader_that_goes_away_ends_the_demo_quietly(tmp_path: Path) -> None:
    environment = {**os.environ, "KAA_DIR": str(tmp_path / "home"), "TMPDIR": str(tmp_path)}
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run([*_KAA, "demo"], env=environment, stdout=writing, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writing)

    assert (done.returncode, done.stderr) == (141, b"")
