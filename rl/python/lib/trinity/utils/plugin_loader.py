"""Loads plug-in files as modules trinity.plugins.NAME."""

import importlib.util
import os
import sys

import trinity.plugins


def load_plugins():
    """Nothing is left to load: the trinity binary has loaded the folders of --plugin-dir."""


def load_plugin_from_dirs(plugin_dirs):
    """Loads every Python file of a folder or of several."""
    for folder in [plugin_dirs] if isinstance(plugin_dirs, str) else list(plugin_dirs):
        for path in files(folder):
            load_from_file(path)


def files(folder):
    """The plug-in files of a folder, in the order of their names."""
    names = sorted(n for n in os.listdir(folder) if n.endswith(".py") and not n.startswith("__"))
    return [os.path.join(folder, n) for n in names]


def load_from_file(file_path):
    """Loads one file; a second one of the same name is refused."""
    path = os.path.abspath(file_path)
    stem = os.path.splitext(os.path.basename(path))[0]
    name = f"trinity.plugins.{stem}"
    there = sys.modules.get(name)
    if there is not None:
        if os.path.samefile(there.__file__, path):
            return there
        raise ImportError(f"two plug-in files are called {stem}.py: {there.__file__} and {path}; rename one")
    folder = os.path.dirname(path)
    if folder not in trinity.plugins.__path__:  # for imports of neighbours, relative ones and trinity.plugins.X
        trinity.plugins.__path__.append(folder)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    setattr(trinity.plugins, stem, module)
    return module
