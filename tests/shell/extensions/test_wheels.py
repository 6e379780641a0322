"""Wheels that somebody else made, without pip: what they may contain."""

import re
from pathlib import Path

import pytest

from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.index import Wheel
from kaa.shell.extensions.staging import StagedTree
from kaa.shell.extensions.wheels import stage_wheels
from tests.support.extension_sources import PYTHON, wheel


@pytest.mark.parametrize(
    ("files", "links", "said"),
    [
        ({"../outside.py": ""}, {}, "leads out of the extension"),
        ({"/etc/outside.py": ""}, {}, "leads out of the extension"),
        ({"acme.data/purelib/../../outside.py": ""}, {}, "leads out of the extension"),
        ({"a\\b.py": ""}, {}, "invalid file name"),
        ({}, {"secrets": "/etc/passwd"}, "contains the link 'secrets'"),
        ({"acme.py": PYTHON}, {}, "is no extension of kaa"),
    ],
)
def test_a_hostile_wheel_is_refused(tmp_path: Path, files: dict[str, str], links: dict[str, str], said: str) -> None:
    entry_point = "" if "acme.py" in files else "acme:extend"
    file = wheel(tmp_path, "acme", "1.0", files, links=links, entry_point=entry_point)
    (tmp_path / "staging").mkdir()

    with pytest.raises(InstallationError, match=re.escape(said)):
        stage_wheels(
            [Wheel("acme", "1.0", file, "", requested=True)],
            tmp_path / "staging" / "unpacked",
            StagedTree(tmp_path / "staging" / "files"),
        )

    assert not list(tmp_path.rglob("outside.py"))
