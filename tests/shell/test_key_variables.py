"""Commands do not get the variables that keys are taken from."""

import json
from pathlib import Path

from kaa.shell.home import Home
from kaa.shell.key_variables import without_keys


def test_variables_that_keys_are_taken_from_are_left_out(tmp_path: Path) -> None:
    auth = {"a": {"type": "api_key", "key": "$LAB"}, "b": {"type": "api_key", "key": "!cat $EDITOR $$"}}
    provider = {"apiKey": "${OTHER}", "headers": {"x-token": "id-$TEAM", "x-home": "$HOME", "x-price": "$$PRICE"}}
    (tmp_path / "auth.json").write_text(json.dumps(auth))
    (tmp_path / "models.json").write_text(f'// 9" of mine\n{json.dumps({"providers": {"p": provider}})}')
    environ = dict.fromkeys(["LAB", "OTHER", "TEAM", "HOME", "PRICE", "EDITOR", "PATH"], "x")

    assert set(without_keys(environ, Home(tmp_path))) == {"HOME", "PRICE", "EDITOR", "PATH"}


def test_files_that_cannot_be_read_name_none(tmp_path: Path) -> None:
    (tmp_path / "auth.json").mkdir()
    (tmp_path / "models.json").write_bytes(b"\xff\x00" + b'"' * 1001)

    assert without_keys({"LAB": "x"}, Home(tmp_path)) == {"LAB": "x"}
