from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from scripts.structure.folding import Candidate, candidates
from scripts.structure.names import MOST_SHARED, SHARED, ambiguous_classes
from scripts.structure.sources import Import, Module, When, imports_of, read_modules

Package = Callable[[Mapping[str, str]], dict[str, Module]]
_SOURCES = Path(__file__).parents[3] / "src/kaa"


@pytest.fixture
def package(tmp_path: Path) -> Package:
    """Write a package `p` from the sources of its files, and read it."""

    def write(files: Mapping[str, str]) -> dict[str, Module]:
        for name, source in files.items():
            file = tmp_path / "p" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source)
        return read_modules(tmp_path / "p")

    return write


def found_in(modules: dict[str, Module], apart: Mapping[str, str] | None = None) -> list[Candidate]:
    imports = [one for module in modules.values() for one in imports_of(module, modules)]
    return list(candidates(modules, imports, apart or {}))


def test_a_module_with_one_importer_beside_it_can_be_folded(package: Package) -> None:
    modules = package({"part.py": "PART = 1\n", "whole.py": "from p.part import PART\n\nprint(PART)\n"})

    assert found_in(modules) == [Candidate("p.part", "p.whole", 4)]


@pytest.mark.parametrize(
    "importer",
    [
        "def use():\n    from p.part import PART\n\n    return PART\n",
        "from importlib import import_module\n\n\ndef use():\n    return import_module('p.part')\n",
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from p.part import PART\n",
    ],
)
def test_a_module_that_loads_later_stays(package: Package, importer: str) -> None:
    assert not found_in(package({"part.py": "PART = 1\n", "whole.py": importer}))


@pytest.mark.parametrize(
    "more",
    [
        {"other.py": "from p.part import PART\n"},
        {"other.py": "from p import part\n"},
        {"other.py": "def use():\n    import p.part\n"},
        {"other.py": "PROGRAM = ('-m', 'p.part')\n"},
    ],
)
def test_a_module_that_others_import_too_stays(package: Package, more: Mapping[str, str]) -> None:
    modules = package({"part.py": "PART = 1\n", "whole.py": "from p.part import PART\n", **more})

    assert not found_in(modules)


def test_a_module_of_another_folder_stays(package: Package) -> None:
    modules = package({"inner/part.py": "PART = 1\n", "whole.py": "from p.inner.part import PART\n"})

    assert not found_in(modules)


def test_a_module_with_which_the_importer_becomes_too_long_stays(package: Package) -> None:
    modules = package({"part.py": "PART = 1\n" * 400, "whole.py": "from p.part import PART\n" * 21})

    assert not found_in(modules)


def test_a_module_that_is_apart_for_a_reason_stays(package: Package) -> None:
    modules = package({"part.py": "PART = 1\n", "whole.py": "from p.part import PART\n"})

    assert not found_in(modules, {"p.* -> *.whole": "each part has a subject"})


def test_an_import_of_a_package_is_not_one_of_its_modules(package: Package) -> None:
    modules = package({"q/__init__.py": "Q = 1\n", "q/part.py": "", "whole.py": "from p.q import Q, part\n"})

    assert set(imports_of(modules["p.whole"], modules)) == {
        Import("p.whole", "p.q", When.LOADING),
        Import("p.whole", "p.q.part", When.LOADING),
    }


def test_classes_of_one_name_are_found_with_their_modules(package: Package) -> None:
    modules = package(
        {
            "one.py": "class Text: ...\nclass _Inside: ...\n",
            "two.py": "class Text: ...\nclass _Inside: ...\nclass B: ...\n",
        }
    )

    assert ambiguous_classes(modules.values()) == {"Text": ["p.one", "p.two"]}


def test_public_classes_share_no_name_without_a_reason() -> None:
    found = ambiguous_classes(read_modules(_SOURCES).values())

    assert {name: places for name, places in found.items() if name not in SHARED} == {}
    assert found.keys() == SHARED.keys(), "SHARED has names that only one class has now"
    assert len(SHARED) <= MOST_SHARED
