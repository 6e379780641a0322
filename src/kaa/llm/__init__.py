"""Models and how to reach them: wire formats, credentials, the catalogue, record and replay."""
