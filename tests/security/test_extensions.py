"""What commands write beside an extension of the user's does not run in kaa."""

import re
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.extension_sources import write
from tests.support.model_server import ModelServer, call, say

_BESIDE = """\
import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(__file__), {folder!r}))
import kwords


def extend(kaa):
    open({works!r}, "w")
"""


@pytest.mark.parametrize(("folder", "is_loaded"), [("../shared", False), ("shared", True)])
def test_a_linked_extension_runs_nothing_that_commands_wrote_beside_it(
    kaa: Kaa, tmp_path: Path, folder: str, is_loaded: bool
) -> None:
    canary, works = tmp_path / "canary", tmp_path / "works"
    source = _BESIDE.format(folder=folder, works=str(works))
    write(kaa.project, {"hello/__init__.py": source, "shared/kwords.py": "X = 1\n"})
    if is_loaded:
        (kaa.project / "hello/shared").symlink_to("../shared")  # its target is code of the extension
    given = ("-e", str(kaa.project / "hello"))
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        planted = f"open({str(canary)!r}, 'w')"
        server.begin([call("bash", command=f'echo "{planted}" > shared/kwords.py'), say("Done.")])
        kaa.run(*given, "-p", "hi")
        server.begin([say("Done.")])

        works.unlink(missing_ok=True)

        done = kaa.run(*given, "-p", "hi again")

    assert not canary.exists()
    assert works.exists() == is_loaded
    assert (re.search(r"/shared/\S*kwords\S* is not executed", done.err) is None) == is_loaded
