"""One browser for all tests of pages; they skip where there is none."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kaa.session.export.page import write_page
from kaa.session.export.selection import ExportSelection
from kaa.session.export.source import SnapshotFile
from tests.support.browser import Browser, Page, find_browser
from tests.support.rich_session import write_rich_session


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = find_browser()
    if program is None:
        pytest.skip("there is no Chromium here: install the package `chromium`, as CONTRIBUTING.md says")
    with Browser(program) as browser:
        yield browser


@pytest.fixture(scope="session")
def tab(browser: Browser) -> Iterator[Page]:
    with browser.page() as page:
        yield page


@pytest.fixture
def page(tab: Page) -> Page:
    """An empty tab."""
    tab.empty()
    return tab


@pytest.fixture
def exported(tmp_path: Path) -> Callable[[Path], Path]:
    """Makes the page of a session file."""

    def export(session: Path) -> Path:
        out = io.BytesIO()
        with SnapshotFile.open(session) as source:
            write_page(source, ExportSelection(all_branches=True), out)
        file = tmp_path / "session.html"
        file.write_bytes(out.getvalue())
        return file

    return export


@pytest.fixture
def rich(tmp_path: Path, page: Page, exported: Callable[[Path], Path]) -> Page:
    """The page of a session with everything in it."""
    page.open(exported(write_rich_session(tmp_path)))
    return page
