"""tree-sitter's grammar of bash, loaded once."""

from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Tree


@cache
def load_grammar() -> "Language":
    """The grammar, loaded once."""
    # Lazily: many conversations run no command. Not the package: it loads `importlib.resources`, for files of its own.
    import tree_sitter

    package = PathFinder.find_spec("tree_sitter_bash")
    binding = package and PathFinder.find_spec("tree_sitter_bash._binding", package.submodule_search_locations)
    if binding is None or binding.loader is None:
        raise ImportError("tree-sitter-bash has no _binding")
    module = module_from_spec(binding)
    binding.loader.exec_module(module)
    return tree_sitter.Language(module.language())


# The grammar's scanner hands code points to `isalpha` and the like, which are only defined for bytes: with others it
# reads memory that is not its own, and crashes on some. So the grammar sees a letter in the place of each such byte.
# Words are cut out of the source itself.
_FOR_GRAMMAR = bytes(code if code < 0x80 else ord("x") for code in range(0x100))


def parse(source: bytes) -> "Tree":
    """The tree of a script. Its nodes have the positions of the source, not its characters."""
    import tree_sitter  # lazily, as above

    parser = tree_sitter.Parser(load_grammar())  # of its own: long commands are read in threads
    return parser.parse(source.translate(_FOR_GRAMMAR))
