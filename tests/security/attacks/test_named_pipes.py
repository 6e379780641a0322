"""A named pipe in kaa's own home, where a file belongs: kaa would wait for a writer for ever.

The canary is the end of the run: reaching the limit of `Kaa.run` fails the test.
"""

import os
from pathlib import Path

import pytest

from kaa.shell.user_file import UserFileError, read_json
from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import ModelServer, call, say


@pytest.fixture
def kaa(tmp_path: Path) -> Kaa:
    return Kaa(tmp_path)


def _in_place_of(file: Path) -> None:
    file.unlink(missing_ok=True)
    os.mkfifo(file)


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("settings.json", 2, "settings.json: cannot be read: it is a named pipe and not a regular file"),
        ("models.json", 5, "models.json cannot be read (it is a named pipe and not a regular file)"),
        ("auth.json", 2, "auth.json cannot be read (not a regular file)"),
        ("trust.json", 0, ""),
        ("AGENTS.md", 0, "AGENTS.md is not used: it cannot be read (it is a named pipe and not a regular file)"),
        ("SYSTEM.md", 0, "SYSTEM.md is not used: it cannot be read (it is a named pipe and not a regular file)"),
    ],
)
def test_kaa_does_not_wait_for_a_writer(kaa: Kaa, name: str, code: int, said: str) -> None:
    with ModelServer([say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        _in_place_of(kaa.home / name)

        finished = kaa.run("-p", "work")

    assert finished.code == code, finished.err
    assert said in finished.err


@pytest.mark.usefixtures("confined")
def test_checkpoints_go_on_without_a_turn_a_change_set_or_a_pack_that_is_a_pipe(kaa: Kaa) -> None:
    (kaa.project / "main.py").write_text("print(1)\n")
    for _ in range(2):
        with ModelServer([call("bash", command="echo 2 >> main.py"), say("Done.")]) as server:
            kaa.use(server, "openai-completions")
            finished = kaa.run("-p", "work")
        assert finished.code == 0, finished.err
        for folder in ("turns", "sets", "packs", "manifests", "restores"):
            (directory,) = kaa.home.glob(f"checkpoints/*/{folder}")
            for file in [*directory.iterdir()] or [directory / "x.json"]:
                _in_place_of(file)

    assert (kaa.project / "main.py").read_text() == "print(1)\n2\n2\n"


def test_the_files_of_the_first_frame_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "keybindings.json")

    with pytest.raises(UserFileError, match="it is a named pipe and not a regular file"):
        read_json(str(tmp_path / "keybindings.json"))
