"""A project like others: a repository with files, edited under the default settings."""

import json
import os
import subprocess
from pathlib import Path

from tests.end_to_end.kaa_process import Kaa

FUNCTIONS = "".join(f"def function_{n}(value):\n    return value + {n}\n\n\n" for n in range(60))
DATA = json.dumps({f"key_{n}": 1 for n in range(60)}, indent=2)


def ordinary_kaa(folder: Path) -> Kaa:
    """Make a home and a project in an empty folder."""
    kaa = Kaa(folder)
    # No measuring of coverage in the process that is counted, and no language servers of this machine.
    kaa.environ = {name: value for name, value in kaa.environ.items() if not name.startswith("COVERAGE")}
    kaa.setenv(PATH=os.defpath)
    git = ("git", "init", "--quiet", "--template=", str(kaa.project))
    subprocess.run(git, env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}, check=True)
    # A busy machine takes longer than the default waits, and kaa would go on without what it waits for.
    kaa.settings(features={"briefingWaitMs": 30_000, "diagnosticsWaitMs": 30_000})
    for name in ("file_0.py", "file_1.py", "file_2.py", "module.py"):
        (kaa.project / name).write_text(FUNCTIONS)
    (kaa.project / "data.json").write_text(DATA)
    return kaa
