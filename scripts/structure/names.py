"""Names of classes that mean several things."""

import ast
from collections import defaultdict
from collections.abc import Iterable

from scripts.structure.sources import Module


def ambiguous_classes(modules: Iterable[Module]) -> dict[str, list[str]]:
    """Return the public names of classes that several modules define, with these modules."""
    places = defaultdict(list)
    for module in modules:
        for name in {node.name for node in module.tree.body if isinstance(node, ast.ClassDef)}:
            places[name].append(module.name)
    return {name: found for name, found in sorted(places.items()) if len(found) > 1 and not name.startswith("_")}
