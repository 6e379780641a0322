"""What files are called that hold data, texts, or what a tool reads: nobody executes them because they are there."""

from kaa.hands.lazy_pattern import LazyPattern
from kaa.hands.protected import TEXTS

_COMPOSE = LazyPattern(r"(docker-)?compose([.-][\w.-]+)?\.ya?ml")
# In lower case.
_DATA_ENDINGS = (
    *(*TEXTS, ".rst", ".adoc", ".txt", ".lock", ".sum", ".csv", ".tsv", ".parquet", ".db", ".sqlite", ".log", ".pdf"),
    *(".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico", ".ttf", ".woff", ".woff2", ".mp3", ".mp4", ".wav"),
    *(".css", ".html", ".d.ts", ".example", ".sample", ".pem", ".crt"),
)
_MANIFESTS = frozenset(
    (
        *("package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml"),
        *("tsconfig.json", "jsconfig.json", "deno.json", "composer.json", "pyproject.toml", "setup.py", "setup.cfg"),
        *("pipfile", "environment.yml", "environment.yaml", "gemfile", "go.mod", "go.work", "cargo.toml", "pom.xml"),
        *("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "mix.exs", "rebar.config"),
        *(
            "brewfile",
            "makefile",
            "gnumakefile",
            "justfile",
            "dockerfile",
            "containerfile",
            ".dockerignore",
            ".gitignore",
        ),
        *(".gitattributes", ".editorconfig", ".env", ".nvmrc", ".node-version", ".python-version", ".ruby-version"),
        *(".tool-versions", "license", "readme", "changelog", "version"),
    )
)


def is_data_name(name: str) -> bool:
    """Whether what a file is called says that it is a manifest, data or a text."""
    folded = name.casefold()
    return folded in _MANIFESTS or folded.endswith(_DATA_ENDINGS) or _COMPOSE.fullmatch(folded) is not None
