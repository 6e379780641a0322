"""Names of classes that mean several things."""

import ast
from collections import defaultdict
from collections.abc import Iterable

from scripts.structure.sources import Module

MOST_SHARED = 10  # issue 40
# Public names that several modules give to classes all the same, with the reason.
_DRAWN = "a value that extensions show, and the component that draws it; both are public"
_PROTOCOL = "named after the command of rpc mode, whose classes are always used with their module: `rpc.{}`"
SHARED = {
    "Abort": _PROTOCOL.format("Abort"),
    "Block": "what a hook returns, and a piece of the terminal's document; both are public, and no module uses both",
    "Code": _DRAWN,
    "Completion": "the answer of a model, and a completion in the editor; both are public, and no module uses both",
    "Markdown": _DRAWN,
    "NewSession": _PROTOCOL.format("NewSession"),
    "StopAgent": _PROTOCOL.format("StopAgent"),
    "Text": _DRAWN,
    "ToolError": "programs of the model catch an exception of the name that tools raise",
}


def ambiguous_classes(modules: Iterable[Module]) -> dict[str, list[str]]:
    """Return the public names of classes that several modules define, with these modules."""
    places = defaultdict(list)
    for module in modules:
        for name in {node.name for node in module.tree.body if isinstance(node, ast.ClassDef)}:
            places[name].append(module.name)
    return {name: found for name, found in sorted(places.items()) if len(found) > 1 and not name.startswith("_")}
