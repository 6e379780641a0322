from kaa.shell.trust.configuration import ConfigurationFile
from kaa.shell.trust.difference import Difference, difference, known


def test_files_that_are_the_same_are_no_difference() -> None:
    file = ConfigurationFile(".kaa/settings.json", "file", b"{}")

    assert difference({file.path: known(file)}, (file,)) == Difference()
