"""A run recorded from a real model replays. Other formats: tests/demo and `kaa demo`.

`openai_responses.jsonl`: Qwen2.5-Coder-1.5B-Instruct served by llama.cpp, recorded with `--record` on 2026-11-22.
"""

from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa

pytestmark = pytest.mark.usefixtures("full_access")

_RECORDINGS = Path(__file__).parent / "recordings"


@pytest.mark.usefixtures("confined")
def test_a_recorded_run_over_responses_replays(kaa: Kaa) -> None:
    for file in ("basket.py", "test_basket.py"):
        (kaa.project / file).write_text("")
    recording = _RECORDINGS / "openai_responses.jsonl"

    done = kaa.run("--replay", str(recording), "-t", "read,bash", "-p", "Which files are here? Run ls.")

    assert done.code == 0, done.err
    assert "`basket.py` and `test_basket.py`" in done.out
    assert "bash ls" in done.err
