"""What a login shows to the person who logs in, and asks."""

from typing import Protocol


class LoginScreen(Protocol):
    """Who shows it: the command line, the interactive terminal, a test."""

    def show_address(self, address: str) -> None:
        """Have `address` opened in a browser; there one logs in. It holds no secret that lasts."""

    def show_code(self, address: str, code: str) -> None:
        """Have `address` opened in a browser, on any machine, and `code` entered there."""

    def complain(self, problem: str) -> None:
        """What was pasted is of no use; it is asked for again."""

    async def pasted(self) -> str:
        """What the person pastes from the browser. May wait for ever: it is cancelled when it is not needed.

        Raises:
            LoginRefusedError: the person gives up.
        """
