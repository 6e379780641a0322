"""A component in Rust, which is built from the scaffold."""

import hashlib
from pathlib import Path

from kaa.frontends.extensions.scaffold import write_scaffold
from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import ModelServer, call, say

_FOLDER = Path(__file__).parent / "rust_component"


def test_its_tool_reads_the_project(tmp_path: Path) -> None:
    kaa = Kaa(tmp_path)
    folder = tmp_path / "words"
    write_scaffold(folder, "words", "wasm-rust")
    (folder / "words.wasm").write_bytes((_FOLDER / "words.wasm").read_bytes())
    (kaa.project / "notes.txt").write_text("one two three\n")
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        server.begin([call("count_words", path="notes.txt"), call("count_words"), say("three")])

        permitted = kaa.run("ext", "permit", "--yes", "../words")
        done = kaa.run("-e", "../words", "-p", "How many words?")

        assert "read the files of the project" in permitted.out
        assert done.out == "three\n", done.err
        results = [message["content"] for message in server.requests[-1].json["messages"] if message["role"] == "tool"]
        assert results == ["3 words", "path is missing"]


def test_it_was_built_from_the_scaffold(tmp_path: Path) -> None:
    write_scaffold(tmp_path / "words", "words", "wasm-rust")

    digests = {
        file: hashlib.sha256((tmp_path / "words" / file).read_bytes()).hexdigest()
        for file in ("Cargo.toml", "src/lib.rs", "wit/kaa-extension.wit")
    }

    recorded = dict(line.split("  ")[::-1] for line in (_FOLDER / "source.sha256").read_text().splitlines())
    assert digests == recorded, "build words.wasm again: see rust_component/README.md"
