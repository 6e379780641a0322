import os
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path

import pytest

from kaa.hands.confinement.layout import concealment
from kaa.hands.confinement.listing import HomeList
from kaa.hands.policy import Policy
from kaa.workspace.sandbox.secrets import Concealment, conceal


def _concealed(*chosen: str, home: str = "/home/me", environment: Mapping[str, str] | None = None) -> Concealment:
    return conceal(home, [f"{home}/.kaa/agent"], chosen, environment or {})


def _seen(home: Path, *chosen: str, path: str = "") -> set[str]:
    """Which of the home's files are not left out by the list."""
    concealed = _concealed(*chosen, home=str(home), environment={"PATH": path})
    listing = HomeList(Policy("full", "workspace-write", **concealed._asdict()))
    files = {file for file in home.rglob("*") if file.is_file()}
    return {str(file.relative_to(home)) for file in files if not listing.hides(str(file))}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return (tmp_path / "home").resolve()


def _make(home: Path, *names: str) -> None:
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()


def test_the_usual_places_are_hidden() -> None:
    concealed = _concealed()

    usual = {"/home/me/.ssh", "/home/me/.aws", "/home/me/.netrc", "/home/me/.kaa/agent", "/etc/shadow*"}
    assert usual <= set(concealed.hidden)
    assert concealed.shown == ()


@pytest.mark.parametrize(
    ("beside", "secret"),
    [
        (".local/share/python3.12/x", ".local/share/python_keyring/keyring_pass.cfg"),
        (".rye/shims/python", ".rye/credentials"),
        (".mamba/pkgs/x", ".mamba/auth/authentication.json"),
        (".config/mise/config.toml", ".config/mise/age.txt"),
        (".local/share/gem/ruby/x", ".local/share/gem/credentials"),
        (".m2/repository/x", ".m2/.develocity/keys.properties"),
        (".m2/toolchains.xml", ".m2/settings-company.xml.bak"),
        (".nvm/versions/node/v24/bin/node", ".nvm/versions/node/v24/etc/npmrc"),
        (".npm-global/bin/x", ".npm-global/etc/npmrc"),
        (".gradle/caches/x", ".gradle/develocity/keys.properties"),
        (".sbt/1.0/plugins/build.sbt", ".sbt/1.0/sonatype.sbt"),
        (".lein/profiles.d/x", ".lein/credentials.clj.gpg"),
        (".conan2/profiles/default", ".conan2/.conan.db"),
        (".dotnet/tools/x", ".dotnet/corefx/cryptography/x509stores/my/key.pfx"),
        (".stack/programs/x", ".stack/upload/credentials.json"),
        (".luarocks/lib/x", ".luarocks/upload_config.lua"),
        (".platformio/packages/x", ".platformio/appstate.json"),
        (".cache/ms-playwright/chromium-1/chrome", ".cache/ms-playwright/mcp-chrome-1/Default/Cookies"),
        (".vim/autoload/x", ".vim/undodir/%home%me%.netrc"),
        (".julia/packages/x", ".julia/logs/repl_history.jl"),
    ],
)
def test_secrets_of_toolchains_are_hidden_beside_what_they_need(home: Path, beside: str, secret: str) -> None:
    _make(home, beside, secret)
    hidden = [Path(pattern) for pattern in _concealed(home=str(home)).hidden]

    def is_hidden(name: str) -> bool:
        path = home / name
        return any(each.match(str(pattern)) for each in (path, *path.parents) for pattern in hidden)

    assert _seen(home) == {beside, secret}  # the list of the home alone would show it
    assert is_hidden(secret)
    assert not is_hidden(beside)


def test_the_user_adds_to_them_and_makes_exceptions() -> None:
    concealed = _concealed("~/private/", "!~/.npmrc", "!~/.ssh/known_hosts", "/srv/keys")

    assert {"/home/me/private", "/srv/keys", "/home/me/.ssh"} <= set(concealed.hidden)
    assert "/home/me/.npmrc" not in concealed.hidden
    assert concealed.shown == ("/home/me/.npmrc", "/home/me/.ssh/known_hosts")


def test_dot_entries_of_the_home_are_seen_only_if_they_are_listed(home: Path) -> None:
    _make(home, ".boto", ".s3cfg", ".bashrc", ".cloudflared/cert.pem", ".gemini/.env", ".electrum/wallets/w", "notes/a")
    _make(home, ".gitconfig", ".gitconfig-work", ".rustup/x", ".cargo/bin/cargo", ".nvm/v/node", "notes/.hidden")

    assert _seen(home) == {
        *("notes/a", "notes/.hidden", ".gitconfig", ".gitconfig-work", ".rustup/x", ".cargo/bin/cargo", ".nvm/v/node")
    }


def test_the_same_holds_where_desktops_keep_such_files(home: Path) -> None:
    _make(home, ".config/git/config", ".config/1Password/settings", ".local/bin/tool", ".local/state/wezterm/history")
    _make(home, ".local/share/uv/python/x", ".local/share/atuin/history.db", ".cache/go-build/x", ".cache/chatgpt/x")
    _make(home, "Library/Messages/chat.db", "Library/Python/x", "Library/Application Support/Claude/x")

    assert _seen(home) == {
        *(".config/git/config", ".local/bin/tool", ".local/share/uv/python/x", ".cache/go-build/x", "Library/Python/x")
    }


def test_what_the_path_names_is_seen_with_what_is_beside_it(home: Path) -> None:
    concealed = _concealed(
        home=str(home), environment={"PATH": f"/usr/bin:{home}/.tool/bin:{home}/.other:{home}/.local/bin:relative:"}
    )

    added = set(concealed.listed) - set(_concealed(home=str(home)).listed)
    assert added == {f"{home}/.tool/bin", f"{home}/.tool", f"{home}/.other"}


def test_secrets_beside_a_directory_of_programs_are_hidden(home: Path) -> None:
    tools = {".fly": "config.yml", ".pulumi": "credentials.json", ".railway": "config.json", ".wasmer": "wasmer.toml"}
    environment = {"PATH": ":".join(f"{home}/{tool}/bin" for tool in tools)}

    concealed = _concealed(home=str(home), environment=environment)

    assert {f"{home}/{tool}" for tool in tools} <= set(concealed.listed)
    assert {f"{home}/{tool}/{secret}" for tool, secret in tools.items()} <= set(concealed.hidden)


def test_logins_of_an_unknown_tool_on_the_path_are_hidden_also_later_ones(home: Path) -> None:
    _make(home, ".tool/bin/tool", ".tool/lib/x.json", ".tool/package.json", ".tool/config.json", ".cargo/config.toml")
    concealed = _concealed(home=str(home), environment={"PATH": f"{home}/.tool/bin:{home}/.cargo/bin:{home}/bin"})

    hidden, shown = concealment(Policy("full", "workspace-write", **concealed._asdict()))

    assert [path for path in hidden if path.startswith(str(home))] == [f"{home}/.tool/config.json"]
    assert shown == (f"{home}/.tool/package.json",)
    later = ("space_tokens", "auth.yml", "x.cfg", "x.ini", ".env", "SECRETS", "ApiKey", "bin", "lib")
    assert [name for name in later if any(fnmatch(f"{home}/.tool/{name}", one) for one in concealed.hidden)] == [
        *("space_tokens", "auth.yml", "x.cfg", "x.ini", ".env", "SECRETS", "ApiKey")
    ]
    assert not any(pattern.startswith((f"{home}/bin", f"{home}/.cargo/*")) for pattern in concealed.hidden)


def test_logins_beside_programs_deeper_in_an_unknown_tool_are_hidden(home: Path) -> None:
    _make(home, ".tool/current/bin/keytool", ".tool/current/config.json", ".tool/scripts/keys", ".nvm/x/config.json")
    path = f"{home}/.tool/current/bin/:{home}/.tool/scripts:{home}/.nvm/x/bin"
    concealed = _concealed(home=str(home), environment={"PATH": path})

    hidden, _ = concealment(Policy("full", "workspace-write", **concealed._asdict()))

    assert [path for path in hidden if path.startswith(str(home))] == [f"{home}/.tool/current/config.json"]


def test_a_python_of_an_unknown_environment_on_the_path_works(home: Path) -> None:
    _make(home, ".mine/bin/python", ".mine/pyvenv.cfg")
    concealed = _concealed(home=str(home), environment={"PATH": f"{home}/.mine/bin"})

    _, shown = concealment(Policy("full", "workspace-write", **concealed._asdict()))

    assert shown == (f"{home}/.mine/pyvenv.cfg",)


def test_the_user_can_show_the_logins_of_a_tool(home: Path) -> None:
    _make(home, ".tool/bin/tool", ".tool/config.json")
    concealed = _concealed("!~/.tool", home=str(home), environment={"PATH": f"{home}/.tool/bin"})

    hidden, _ = concealment(Policy("full", "workspace-write", **concealed._asdict()))

    assert not any(path.startswith(str(home)) for path in hidden)


def test_a_default_can_be_taken_back_without_showing_known_secrets(home: Path) -> None:
    _make(home, ".boto", ".config/1Password/settings")

    concealed = _concealed("!~/.*", home=str(home))

    assert _seen(home, "!~/.*") == {".boto"}
    assert concealed.shown == ()
    assert f"{home}/.ssh" in concealed.hidden


def test_links_of_directories_are_followed_to_what_the_list_is_about(home: Path, tmp_path: Path) -> None:
    _make(tmp_path / "dotfiles", "config/git/config", "config/1Password/settings")
    home.mkdir()
    os.symlink(tmp_path / "dotfiles" / "config", home / ".config")
    concealed = _concealed(home=str(home))
    listing = HomeList(Policy("full", "workspace-write", **concealed._asdict()))

    assert not listing.hides(str(tmp_path / "dotfiles/config/git/config"))
    assert listing.hides(str(tmp_path / "dotfiles/config/1Password/settings"))


def test_the_usual_folder_of_kaa_is_hidden_where_another_one_is_used() -> None:
    assert "/home/me/.kaa/agent" in conceal("/home/me", ["/home/me/work"], (), {}).hidden
