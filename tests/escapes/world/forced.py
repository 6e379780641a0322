"""`kaa sandbox` in a tier of the test's choice: `python forced.py TIER [FLAGS] -- COMMAND`.

The user has no such choice: kaa takes the first tier that holds.
"""

import os
import sys
from unittest import mock

from kaa.frontends import sandbox_command

if __name__ == "__main__":
    with mock.patch("kaa.workspace.sandbox.sandbox.tiers_to_try", return_value=(sys.argv[1], "none")):
        sys.exit(sandbox_command.main(sys.argv[2:], os.getcwd()))
