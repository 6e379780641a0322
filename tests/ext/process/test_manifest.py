"""Manifests of extension processes: Piglet's fields, permissions, and what is refused."""

from pathlib import Path

import pytest

from kaa.ext.errors import ExtensionError
from kaa.ext.permissions import READING_TOOLS, Permissions
from kaa.ext.process.manifest import DefaultFile, Manifest, read_manifest
from tests.support.extension_ids import named


def _read(folder: Path, text: str | bytes) -> Manifest:
    (folder / "manifest.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_manifest(named(folder))


def test_all_fields_of_piglet(tmp_path: Path) -> None:
    manifest = _read(
        tmp_path,
        """
name: hello
version: 0.10
runtime: bun
entry: index.ts
description: Greets
intents: [search]
capabilities:
  - tools
  - commands
defaults:
  - src: defaults/prompt.md
    dest: hello.md
""",
    )

    assert manifest == Manifest(
        name="hello",
        version="0.10",
        runtime="bun",
        entry="index.ts",
        description="Greets",
        capabilities=("tools", "commands"),
        defaults=(DefaultFile("defaults/prompt.md", "hello.md"),),
        folder=str(tmp_path),
        extension=named(tmp_path),
    )


@pytest.mark.parametrize(
    ("runtime", "program", "arguments"),
    [
        ("bun", "bun", ("run", "{}/main")),
        ("deno", "deno", ("run", "--allow-all", "{}/main")),
        ("node", "node", ("{}/main",)),
        ("python", "python3", ("{}/main",)),
        ("/usr/bin/ruby", "/usr/bin/ruby", ("{}/main",)),
        ("./bin/run", "{}/./bin/run", ("{}/main",)),
    ],
)
def test_the_runtime_decides_the_command(
    tmp_path: Path, runtime: str, program: str, arguments: tuple[str, ...]
) -> None:
    manifest = _read(tmp_path, f"name: x\nruntime: {runtime}\nentry: main\n")

    assert manifest.program == program.format(tmp_path)
    assert manifest.arguments == tuple(one.format(tmp_path) for one in arguments)


def test_a_program_needs_no_entry(tmp_path: Path) -> None:
    manifest = _read(tmp_path, "name: pack-core\nruntime: ./pack-core\ncapabilities:\n")

    assert manifest.arguments == ()


def test_permissions_and_transport(tmp_path: Path) -> None:
    manifest = _read(
        tmp_path,
        """
name: search
runtime: python
entry: main.py
transport: stdio
permissions:
  project: write
  session: read
  hosts: [api.example.com, "*.example.org:8443"]
  keys: [openai]
  models: true
""",
    )

    assert manifest.transport == "stdio"
    assert manifest.requested == Permissions(
        project="write", session="read", hosts=("api.example.com", "*.example.org:8443"), keys=("openai",), models=True
    )


@pytest.mark.parametrize(
    ("capabilities", "permissions"),
    [
        ("[]", Permissions()),
        ("[shortcuts]", Permissions()),
        ("[tools, unknown]", Permissions(project="read", tools=READING_TOOLS)),
        ("[eventHandlers, prompt]", Permissions(project="read", session="read")),
    ],
)
def test_capabilities_imply_permissions_to_read(tmp_path: Path, capabilities: str, permissions: Permissions) -> None:
    manifest = _read(tmp_path, f"name: x\nruntime: ./x\ncapabilities: {capabilities}\n")

    assert manifest.permissions is None
    assert manifest.requested == permissions


def test_stated_permissions_replace_the_implied_ones(tmp_path: Path) -> None:
    manifest = _read(tmp_path, "name: x\nruntime: ./x\ncapabilities: [tools]\npermissions: {models: true}\n")

    assert manifest.requested == Permissions(models=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected fields such as `name: my-extension`"),
        ("- name", "expected fields"),
        ("name: [", "while parsing a flow node"),
        (b"name: \xff", "can't decode byte 0xff"),
        ("runtime: bun", "missing required field `name`"),
        ("name: x\nruntime:", "missing required field `runtime`"),
        ("name: x\nruntime: [a]", "`$.runtime`"),
        ("name: a/b\nruntime: ./x", "invalid `name` 'a/b'"),
        ("name: x\nruntime: node", "`entry` is missing: name the file that node executes"),
        ("name: x\nruntime: ../x", "invalid `runtime` '../x': use a path inside the folder"),
        ("name: x\nruntime: node\nentry: /etc/passwd", "invalid `entry` '/etc/passwd'"),
        ("name: x\nruntime: ./x\ndefaults: [{src: ../../key, dest: b}]", "invalid `defaults[0].src` '../../key'"),
        ("name: x\nruntime: ./x\ncapabilities: tools", "`$.capabilities`"),
        ("name: x\nruntime: ./x\ntransport: tcp", "`$.transport`"),
        ("name: x\nruntime: ./x\npermissions: {project: all}", "`$.permissions.project`"),
        ("name: x\nruntime: ./x\npermissions: {files: all}", "unknown field `files` - at `$.permissions`"),
        ("name: x\nruntime: ./x\npermissions: {hosts: ['http://a/']}", "invalid host 'http://a/' in `hosts`"),
        ("name: x\nruntime: ./x\npermissions: {keys: ['../a']}", "invalid key '../a' in `keys`"),
        ("a: &a [b]\nname: x\nruntime: ./x\ncapabilities: *a", "aliases (`*name`) are not supported"),
        ("name: !!python/object/apply:os.getcwd []\nruntime: ./x", "`$.name`"),
    ],
)
def test_an_invalid_manifest_names_file_and_field(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(ExtensionError) as caught:
        _read(tmp_path, text)

    assert str(caught.value).startswith(f"Extension {tmp_path}: invalid {tmp_path}/manifest.yaml: ")
    assert message in str(caught.value)


def test_a_manifest_that_is_not_there_or_too_large(tmp_path: Path) -> None:
    with pytest.raises(ExtensionError, match="No such file"):
        read_manifest(named(tmp_path))
    with pytest.raises(ExtensionError, match="more than 65536 bytes"):
        _read(tmp_path, "#" * 70_000)
    with pytest.raises(ExtensionError, match="more than 10 lists or mappings inside each other"):
        _read(tmp_path, "name: " + "[" * 60_000)
