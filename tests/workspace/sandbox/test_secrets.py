from kaa.workspace.sandbox.secrets import hidden_paths


def test_the_usual_places_are_hidden() -> None:
    hidden, shown = hidden_paths("/home/me", ["/home/me/.kaa/agent"], [])

    assert {"/home/me/.ssh", "/home/me/.aws", "/home/me/.netrc", "/home/me/.kaa/agent", "/etc/shadow*"} <= set(hidden)
    assert shown == ()


def test_the_user_adds_to_them_and_makes_exceptions() -> None:
    hidden, shown = hidden_paths("/home/me", [], ["~/private/", "!~/.npmrc", "!~/.ssh/known_hosts", "/srv/keys"])

    assert {"/home/me/private", "/srv/keys", "/home/me/.ssh"} <= set(hidden)
    assert "/home/me/.npmrc" not in hidden
    assert shown == ("/home/me/.npmrc", "/home/me/.ssh/known_hosts")
