"""What a login to an MCP server shows besides what every login does."""

from typing import Protocol

from kaa.llm.auth.oauth.screen import LoginScreen


class McpLoginScreen(LoginScreen, Protocol):
    """A `LoginScreen` that names the host of the tokens: other people than those of the login page may run it."""

    def show_token_host(self, host: str) -> None:
        """Say which host gets the code of the login and issues the tokens, before the address is shown."""
