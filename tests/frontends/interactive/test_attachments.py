import shlex
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.builtin.images import ImageError
from kaa.core.messages import ImageContent, TextContent, user_message
from kaa.frontends.interactive.attachments import (
    Attachments,
    as_content,
    dropped_image,
    mentioned,
    read_image,
    with_mentioned,
)
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import NamedFile
from tests.support.agents import run
from tests.support.tables import each


async def unasked(path: str) -> bool:
    raise AssertionError(f"{path} is no secret")


ONE, OTHER = ImageContent("one", "image/png"), ImageContent("other", "image/png")


def test_images_go_with_the_message_that_names_them() -> None:
    attachments = Attachments()
    one, other = attachments.add(ONE), attachments.add(OTHER)

    message = attachments.message(f"compare {other} with {one}, and {other} again")

    assert message.text == "compare [image #2] with [image #1], and [image #2] again"
    assert [part for part in message.content if isinstance(part, ImageContent)] == [OTHER, ONE]


def test_a_deleted_marker_takes_its_image_with_it() -> None:
    attachments = Attachments()
    attachments.add(ONE)
    other = attachments.add(OTHER)

    message = attachments.message(f"only {other}")

    assert [part for part in message.content if isinstance(part, ImageContent)] == [OTHER]


@pytest.mark.parametrize("text", ["compare {1} with {0}", "{0} {1} and {0} again"])
def test_a_message_that_is_taken_back_has_its_images_still(text: str) -> None:
    attachments = Attachments()
    sent = attachments.message(text.format(attachments.add(ONE), attachments.add(OTHER)))

    again = attachments.message(attachments.take_back(sent))

    assert again.content[1:] == sent.content[1:]
    assert again.text == text.format(
        *(("[image #4]", "[image #3]") if text[0] == "c" else ("[image #3]", "[image #4]"))
    )


def test_images_without_markers_are_taken_back_at_the_end() -> None:
    attachments = Attachments()

    text = attachments.take_back(user_message("as in [image #7] and in [image #8]", (ONE,)))

    assert text == "as in [image #7] and in [image #8] [image #1]"
    assert attachments.message(text).content[1:] == (ONE,)


def test_a_message_that_is_taken_back_is_no_command() -> None:
    assert Attachments().take_back(user_message("!touch canary\n\nPlease")) == " !touch canary\n\nPlease"


def test_a_marker_without_an_image_is_text() -> None:
    attachments = Attachments()
    marker = attachments.add(ONE)
    attachments.message(marker)

    assert attachments.message(f"{marker} and [image #99]").text == "[image #1] and [image #99]"
    assert attachments.message(marker).content == attachments.message(marker).content


@each(
    ("pasted", "path"),
    [
        ("/home/me/a.png", "/home/me/a.png"),
        ("/home/me/a.png\n", "/home/me/a.png"),
        ("'/home/me/two words.JPG'", "/home/me/two words.JPG"),
        ('"/home/me/two words.webp"', "/home/me/two words.webp"),
        ("/home/me/two\\ words.gif ", "/home/me/two words.gif"),
        ("file:///home/me/two%20words.jpeg", "/home/me/two words.jpeg"),
        ("./a.png", "./a.png"),
        ("~/a.png", "~/a.png"),
    ],
)
def test_a_dropped_path_of_an_image_is_known_however_it_is_quoted(pasted: str, path: str) -> None:
    assert dropped_image(pasted) == path


@each(
    "pasted",
    [
        "",
        "a.png",
        "/home/me/a.txt",
        "see /home/me/a.png",
        "/a.png /b.png",
        "/a.png\n/b.png",
        "'/a.png",
        "/" + "a" * 5000 + ".png",
    ],
)
def test_other_texts_are_texts(pasted: str) -> None:
    assert dropped_image(pasted) is None


@given(st.text(max_size=50))
def test_any_text_can_be_pasted(pasted: str) -> None:
    assert dropped_image(pasted) is None or "\n" not in pasted.strip()


@given(
    st.text(
        st.characters(codec="utf-8", exclude_characters="\n\r\x85\x0b\x0c\x1c\x1d\x1e\u2028\u2029\0"),
        min_size=1,
        max_size=20,
    )
)
def test_what_a_shell_would_read_is_the_path(name: str) -> None:
    path = f"/{name}.png"

    assert dropped_image(shlex.quote(path)) == path


def test_what_is_no_image_is_said() -> None:
    workspace = MemoryWorkspace({"notes.png": b"not at all"})

    with pytest.raises(ImageError, match="unsupported image format"):
        run(read_image(workspace, "notes.png", unasked))
    with pytest.raises(ImageError, match=r"missing\.png does not exist"):
        run(read_image(workspace, "missing.png", unasked))


def test_an_image_of_the_project_is_read(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (4, 4), "red").save(tmp_path / "a.png")
    data = (tmp_path / "a.png").read_bytes()

    image = run(read_image(MemoryWorkspace({"a.png": data}), "a.png", unasked))

    assert image.mime_type == "image/png"
    assert run(as_content(data)) == image


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("@a.png", ["a.png"]),
        ("look at @shots/a.png, then (@b.JPG) and @a.png again", ["shots/a.png", "b.JPG", "a.png"]),
        ('@"two words.webp" look', ["two words.webp"]),
        ("me@a.png icon@2x.png a.png @", []),
        ("why does @/tmp/x.log say no?", ["/tmp/x.log"]),
    ],
)
def test_files_are_named_by_an_at_sign(text: str, paths: list[str]) -> None:
    assert mentioned(text) == paths


_PIECES = st.lists(st.sampled_from(["@", '"', " ", "\n", ",", "(", "a", ".", ".png", "@b.png"]), max_size=15).map(
    "".join
)


@given(_PIECES, _PIECES)
def test_an_image_is_found_in_any_text(before: str, after: str) -> None:
    text = f"{before}\n@shot.png\n{after}"

    found = mentioned(text)

    assert "shot.png" in found
    assert all(f"@{path}" in text or f'@"{path}"' in text for path in found)


def test_an_image_that_is_named_goes_along_once_and_what_is_none_stays_a_name(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (4, 4), "red").save(tmp_path / "a.png")
    workspace = MemoryWorkspace({"a.png": (tmp_path / "a.png").read_bytes(), "no.png": b"text"})
    told: list[str] = []
    said = user_message("compare @a.png with @no.png")

    message = run(with_mentioned(workspace, said, unasked, told.append))

    assert message.text == said.text
    assert [type(block) for block in message.content] == [TextContent, ImageContent]
    assert told == ["@no.png is no image that kaa knows; only its name is sent"]
    assert run(with_mentioned(workspace, message, unasked, told.append)) is message
    assert Attachments().take_back(message) == said.text


def test_a_text_outside_the_project_goes_along_and_one_inside_stays_a_name(tmp_path: Path) -> None:
    outside = tmp_path / "app.log"
    outside.write_text("ERROR 42")
    workspace = MemoryWorkspace({"notes.txt": b"mine", str(outside): b"ERROR 42"})
    told: list[str] = []

    message = run(with_mentioned(workspace, user_message(f"see @{outside} and @notes.txt"), unasked, told.append))

    assert message.text == f'see @{outside} and @notes.txt\n\n<file name="{outside}">\nERROR 42\n</file>'
    assert run(with_mentioned(workspace, message, unasked, told.append)) is message
    assert told == []
    assert message.said.text == f"see @{outside} and @notes.txt"
    assert Attachments().take_back(message) == message.said.text


def test_a_path_that_cannot_be_attached_is_said(tmp_path: Path) -> None:
    told: list[str] = []
    said = user_message(f"see @{tmp_path}/missing.log, @/components/Button and @decorator")

    message = run(with_mentioned(MemoryWorkspace(), said, unasked, told.append))

    assert message is said
    assert told == [f"@{tmp_path}/missing.log does not exist; only its name is sent"]


def test_a_file_of_the_project_that_does_not_exist_is_said(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    named = "@missing.txt, @shot.png, @src/missing, @README.md, @app.route, @types/node and @someone"
    told: list[str] = []

    workspace = MemoryWorkspace({"README.md": b"here"}, root=str(tmp_path))
    run(with_mentioned(workspace, user_message(named), unasked, told.append))

    assert told == [
        f"@{name} does not exist; paths are relative to {tmp_path}; only its name is sent"
        for name in ("missing.txt", "shot.png", "src/missing")
    ]


def test_a_resource_of_a_server_is_no_file() -> None:
    told: list[str] = []
    message = user_message("see @lib:file:///a/shot.png and @lib:note:readme.md")

    assert run(with_mentioned(MemoryWorkspace(), message, unasked, told.append)) is message
    assert told == []


@pytest.mark.parametrize("permitted", [True, False])
def test_a_secret_is_sent_only_after_a_yes(permitted: bool) -> None:
    class Secrets(MemoryWorkspace):
        async def read_named(self, path: str, max_bytes: int) -> NamedFile:
            return msgspec.structs.replace(await super().read_named(path, max_bytes), is_secret=True)

    asked: list[str] = []
    told: list[str] = []

    async def permit(path: str) -> bool:
        asked.append(path)
        return permitted

    workspace = Secrets({"/home/me/.ssh/id": b"a key"})
    message = run(with_mentioned(workspace, user_message("use @/home/me/.ssh/id"), permit, told.append))

    assert asked == ["/home/me/.ssh/id"]
    assert ("a key" in message.text) is permitted
    assert told == (
        [] if permitted else ["@/home/me/.ssh/id was not attached: it may hold secrets; only its name is sent"]
    )
