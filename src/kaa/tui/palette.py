"""The colours in force: a theme, and the palette that components ask and that themes are exchanged in."""

from collections.abc import Mapping

from kaa.tui.style import Style


class Theme:
    """Styles by token.

    Tokens are pi's names (`accent`, `mdHeading`, `toolDiffAdded`, …); those that end in `Bg` are backgrounds.

    Args:
        name: as the user chooses it.
        styles: SGR parameters for each token, already fit for the terminal's number of colours.
        is_dark: whether it is made for a dark background.
    """

    def __init__(self, name: str, styles: Mapping[str, Style], *, is_dark: bool = True) -> None:
        self.name = name
        self.is_dark = is_dark
        self._styles = styles

    def __getitem__(self, token: str) -> Style:
        """The style of a token, empty where the theme has none."""
        return self._styles.get(token, "")


class Palette:
    """The theme in force. Caches of painted lines hold as long as `version` is the same."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self.version = 0

    @property
    def theme(self) -> Theme:
        """The theme in force."""
        return self._theme

    def change(self, theme: Theme) -> None:
        """Put another theme in force."""
        self._theme = theme
        self.version += 1

    def __getitem__(self, token: str) -> Style:
        return self._theme[token]
