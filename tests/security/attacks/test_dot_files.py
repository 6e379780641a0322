"""The model reads what programs keep in the home: keys, wallets, histories, other agents' conversations.

The canary is the content of the files: it must be in nothing that the model is sent.
"""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.security.attacks.play import play
from tests.support.elsewhere import folder_elsewhere

pytestmark = pytest.mark.usefixtures("confined")

_SECRET = (
    *(".boto", ".s3cfg", ".cloudflared/cert.pem", ".electrum/wallets/w", ".bitcoin/wallet.dat", ".ethereum/keystore/k"),
    *(".config/1Password/x", ".config/solana/id.json", ".config/wireguard/wg0.conf", ".config/Code/User/state.db"),
    *(".gemini/.env", ".claude/projects/p/chat.jsonl", ".aider.chat.history.md", ".bashrc", ".zshenv", ".profile"),
    *(".local/share/atuin/history.db", ".local/share/fish/fish_history", ".local/state/x/token", ".cache/agent/token"),
    *(".m2/settings.xml", ".cargo/credentials.toml", ".bundle/config", ".hex/hex.config", ".of-tomorrow"),
)
_NEEDED = (".gitconfig", ".config/git/ignore", ".cargo/registry/x", ".rustup/toolchains/x", ".nvm/versions/x")


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    with folder_elsewhere() as folder:  # what is below /tmp cannot be seen from inside anyway
        yield Kaa(folder)


def _keep(kaa: Kaa, names: tuple[str, ...], text: str) -> Path:
    home = Path(kaa.environ["HOME"])
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"{text}\n")
    return home


def test_what_programs_keep_in_the_home_is_not_told(kaa: Kaa) -> None:
    canary = f"canary{secrets.token_hex(16)}"
    _keep(kaa, _SECRET, canary)

    told = play(kaa, f"cd ~; cat {' '.join(_SECRET)}", "grep -rsha canary ~; find ~ -name '.*' -exec cat {} +").told

    assert canary not in told


def test_what_toolchains_need_is_there(kaa: Kaa) -> None:
    needed = f"needed{secrets.token_hex(8)}"
    home = _keep(kaa, _NEEDED, needed)
    (home / ".gitconfig").write_text(f"[user]\nname = {needed}\n")

    told = play(kaa, f"cd ~; cat {' '.join(_NEEDED)}; git config user.name").told

    assert told.count(needed) >= len(_NEEDED) + 1


def test_a_program_that_the_path_names_runs(kaa: Kaa) -> None:
    home = _keep(kaa, (".tool/lib/data",), "the data of the tool")
    (home / ".tool" / "bin").mkdir()
    (home / ".tool" / "bin" / "tool").write_text('#!/bin/sh\ncat "$(dirname "$0")/../lib/data"\n')
    (home / ".tool" / "bin" / "tool").chmod(0o755)
    kaa.setenv(PATH=f"{home}/.tool/bin:{os.environ['PATH']}")

    assert "the data of the tool" in play(kaa, "tool").told


def test_a_project_in_a_dot_directory_is_a_project(kaa: Kaa) -> None:
    home = Path(kaa.environ["HOME"])
    (home / ".dotfiles" / ".vim").mkdir(parents=True)
    (home / ".dotfiles" / ".vim" / "rc").write_text("set number\n")
    kaa.project = home / ".dotfiles"

    told = play(kaa, "cat .vim/rc && echo more >>.vim/rc").told

    assert "set number" in told
    assert (home / ".dotfiles" / ".vim" / "rc").read_text() == "set number\nmore\n"


def test_the_result_says_that_it_was_hidden_and_what_shows_it(kaa: Kaa) -> None:
    home = _keep(kaa, (".tool/config",), "not told")

    told = play(kaa, "cat ~/.tool/config").told

    assert f"Reading {home}/.tool is blocked" in told
    assert "sandbox.hidden" in told
    kaa.settings(sandbox={"hidden": ["!~/.tool"]})
    assert "not told" in play(kaa, "cat ~/.tool/config").told


def test_what_the_user_s_git_configuration_names_is_there_and_no_more(kaa: Kaa) -> None:
    needed, canary = f"needed{secrets.token_hex(8)}", f"canary{secrets.token_hex(16)}"
    home = _keep(kaa, (".dotfiles/secret", ".ssh/config", ".netrc"), canary)
    _keep(kaa, (".dotfiles/ignore", ".githooks/helper"), needed)
    (home / ".dotfiles" / "work").write_text(f"[user]\nname = {needed}\n")
    (home / ".githooks" / "post-commit").write_text("#!/bin/sh\ncat ~/.githooks/helper\n")
    (home / ".githooks" / "post-commit").chmod(0o755)
    (home / ".gitconfig").write_text(
        "[user]\nemail = a@b.c\n[include]\npath = .dotfiles/work\n[commit]\ntemplate = ~/.ssh/config\n"
        "[core]\nhooksPath = ~/.githooks\nexcludesFile = ~/.dotfiles/ignore\n"
    )
    commit = "git init -q /tmp/r && cd /tmp/r && git commit -q --allow-empty -m x; git log --format=%an"

    told = play(
        kaa, commit, "cat ~/.dotfiles/ignore", "cd ~; cat .dotfiles/secret .ssh/config .netrc; ls .dotfiles"
    ).told

    assert told.count(needed) >= 3
    assert canary not in told


def test_git_configuration_that_commands_can_write_shows_nothing(kaa: Kaa) -> None:
    canary = f"canary{secrets.token_hex(16)}"
    home = _keep(kaa, (".boto",), canary)
    kaa.project = home / ".dotfiles"
    kaa.project.mkdir()
    (kaa.project / "gitconfig").write_text("[include]\npath = ~/.boto\n")
    (home / ".gitconfig").symlink_to(".dotfiles/gitconfig")

    assert canary not in play(kaa, "cat ~/.boto").told


def test_a_link_in_the_user_s_programs_shows_the_program_but_not_the_tool_s_data(kaa: Kaa) -> None:
    canary = f"canary{secrets.token_hex(16)}"
    home = _keep(kaa, (".local/share/agent/history.db", ".local/share/chats/db", ".ssh/key"), canary)
    _keep(kaa, (".local/share/agent/venv/lib/data",), "the data of the program")
    programs = {
        "first": (".local/share/agent/venv/bin/first", 'cat "$(dirname "$(readlink -f "$0")")/../lib/data"'),
        "second": (".local/share/agent/versions/2.0", "echo the second program"),
    }
    (home / ".local" / "bin").mkdir()
    for name, (place, script) in programs.items():
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).write_text(f"#!/bin/sh\n{script}\n")
        (home / place).chmod(0o755)
        (home / ".local" / "bin" / name).symlink_to(home / place)
    (home / ".local" / "bin" / "third").symlink_to(home / ".local" / "share" / "chats" / "db")
    (home / ".local" / "bin" / "fourth").symlink_to(home / ".local" / "share" / "chats")
    kaa.setenv(PATH=f"{home}/.local/bin:{os.environ['PATH']}")

    told = play(kaa, "first; second", "cd ~/.local; cat bin/third bin/fourth/db share/*/*; cat ~/.ssh/key").told

    assert "the data of the program" in told
    assert told.count("the second program") >= 1
    assert canary not in told


def test_links_that_commands_can_write_show_nothing(kaa: Kaa) -> None:
    canary = f"canary{secrets.token_hex(16)}"
    home = _keep(kaa, (".local/share/agent/key",), canary)
    (home / ".local" / "share" / "agent" / "key").chmod(0o755)
    kaa.project = home / ".local" / "bin"
    kaa.project.mkdir()
    (kaa.project / "key").symlink_to("../share/agent/key")

    assert canary not in play(kaa, "cat key; cat ~/.local/share/agent/key").told
