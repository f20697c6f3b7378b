"""Imports the declarations of a model's file without TensorFlow: while they are read, Keras and
other frameworks are stand-ins that accept every use. Networks are imported for real only where they
are trained."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

FRAMEWORKS = ("keras", "tensorflow", "tf_keras", "keras_hub", "jax", "torch")


class _Anything:
    """Stands for whatever a framework offers: modules, functions, base classes, decorators."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **options: Any) -> Any:
        # as a decorator it leaves what it decorates
        return args[0] if len(args) == 1 and not options and callable(args[0]) else self

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return ()

    def __getitem__(self, key: Any) -> Any:
        return self


class _StandIn(ModuleType):
    """A module of a framework."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()


def _stands_in(module: ModuleType) -> bool:
    """Whether a module is a stand-in, or holds some and has to be imported anew."""
    kinds = (_StandIn, _Anything)
    return isinstance(module, _StandIn) or any(isinstance(v, kinds) for v in vars(module).values())


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        framework = name.partition(".")[0]
        loaded = sys.modules.get(framework)
        # one that is here for real keeps its own parts
        absent = loaded is None or isinstance(loaded, _StandIn)
        return ModuleSpec(name, self) if framework in FRAMEWORKS and absent else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = _StandIn(spec.name)
        module.__path__ = []  # so that it has sub-modules
        return module

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to execute."""


@contextmanager
def _stand_ins(kept: str) -> Iterator[None]:
    """Frameworks that are not imported yet are stand-ins within; modules that got any are imported
    anew when they are needed, but for those below the package `kept`."""
    before = set(sys.modules)
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in sys.modules.keys() - before:
            if name.partition(".")[0] != kept and _stands_in(sys.modules[name]):
                del sys.modules[name]


def declarations(path: Path, name: str, folders: Sequence[str] = ()) -> ModuleType:
    """The module in `path`, called `name`, with frameworks as stand-ins: its classes and constants
    can be read, its functions must not be called. With `folders` it is a package there.

    Raises whatever the module raises.
    """
    with _stand_ins(name.partition(".")[0]):
        return _executed(path, name, folders)


def networks(path: Path, name: str, folders: Sequence[str] = ()) -> ModuleType:
    """The same module as it is, which imports its frameworks."""
    return _executed(path, name, folders)


def _executed(path: Path, name: str, folders: Sequence[str]) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        name, path, submodule_search_locations=list(folders) or None
    )
    assert spec is not None, "a path that ends in .py has a loader"
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
