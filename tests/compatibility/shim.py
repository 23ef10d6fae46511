"""An import shim: `llama_index.core.X` is `ragcore.llamaindex.X`, and a name that is not there is looked up
in ragcore's other packages.

Nothing else of a script changes. `llama_index.llms.openai` and other integrations are the packages of ragcore
of their kind.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

PEER = "llama_index"
CORE = "llama_index.core"
RING = "ragcore.llamaindex"


def install(*, placeholders: bool = False) -> None:
    """From now on an import of the peer in this process gets ragcore.

    With `placeholders` the import of a name that ragcore has not succeeds, and its use fails: one such name
    at the top of a file of tests then fails those tests that use it, and not all.
    """
    _Moved.placeholders = placeholders
    sys.meta_path.insert(0, _Finder())


def strictly(module: str, name: str = "") -> bool:
    """Whether `from ragcore.llamaindex.X import name` succeeds, where `module` is `llama_index.core.X`."""
    ours = _ours(module)
    return ours is not None and (not name or _own(ours, name) is not None)


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname.split(".")[0] != PEER or not _is_module(fullname):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Moved(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


class _Attributes(type):
    """Gives a placeholder any attribute, so that a fixture may replace one. Calling it fails, as with the
    placeholder."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        def fail(*args: object, **kwargs: object) -> None:
            raise NotImplementedError(f"ragcore has no {cls.__name__}")

        return fail


class _Missing(metaclass=_Attributes):
    def __init__(self, *args: object, **kwargs: object) -> None:
        raise NotImplementedError(f"ragcore has no {type(self).__name__}")


class _Moved(ModuleType):
    """What a module of the peer is in ragcore."""

    placeholders = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        ours = _ours(self.__name__)
        found = _own(ours, name) if ours else None
        found = _elsewhere(name) if found is None else found
        if found is None and self.placeholders:
            return type(name, (_Missing,), {})
        if found is None:
            raise AttributeError(f"ragcore has no {name!r} for {self.__name__}")
        return found


def _is_module(path: str) -> bool:
    """Whether the peer has a module there, and not only a name; nothing of it is loaded."""
    places = [Path(place, *path.split(".")) for place in sys.path]
    return any(place.is_dir() or place.with_suffix(".py").exists() for place in places)


def _ours(module: str) -> ModuleType | None:
    """The module of ragcore at the path of `module`; for an integration, such as `llama_index.llms.openai`,
    its kind's."""
    path = module.removeprefix(CORE) if module.startswith(CORE) else "." + ".".join(module.split(".")[1:2])
    return _imported(f"{RING}{path}".rstrip("."))


def _imported(module: str) -> ModuleType | None:
    try:
        return import_module(module)
    except ImportError:
        return None


def _own(module: ModuleType, name: str) -> Any:
    """The name, or submodule, of a module; None where it has none."""
    if (found := getattr(module, name, None)) is not None:
        return found
    try:
        return import_module(f"{module.__name__}.{name}")
    except ImportError:
        return None


@cache
def _elsewhere(name: str) -> Any:
    """The name wherever ragcore has it; public packages first, then modules."""
    import ragcore

    modules = [RING]
    modules += [
        module.name for module in walk_packages(ragcore.__path__, "ragcore.") if "._" not in module.name
    ]
    loaded = [module for module in map(_imported, modules) if module is not None]
    packages = [module for module in loaded if hasattr(module, "__path__")]
    for module in [*packages, *loaded]:
        if (found := getattr(module, name, None)) is not None:
            return found
    return None
