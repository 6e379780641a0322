"""kaa's log. Records go to `LOG`; nothing is written until `kaa.shell.logs` opens a file."""

import logging

LOG = logging.getLogger("kaa")
LOG.propagate = False
LOG.addHandler(logging.NullHandler())  # without any handler, `logging` writes warnings to stderr
LOG.setLevel(logging.CRITICAL + 1)
