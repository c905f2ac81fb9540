"""Registries: names → classes, filled by decorators in plug-in files."""

import importlib
import inspect
import traceback


class Registry:
    """A table of classes by name. default_mapping has those that come with the package, as dotted paths."""

    def __init__(self, name, default_mapping=None):
        self._name = name
        self._modules = {}
        self._default_mapping = dict(default_mapping or {})
        self._places = {}

    @property
    def name(self):
        return self._name

    @property
    def modules(self):
        return self._modules

    @property
    def logger(self):
        from trinity.utils.log import get_logger

        return get_logger(__name__)

    def get(self, module_key):
        """The class of a name: registered, one of the package's own, or a dotted path. None gives None."""
        if module_key is None:
            return None
        found = self._modules.get(module_key)
        if found is not None:
            return found
        if module_key in self._default_mapping:
            return self._import(self._default_mapping[module_key])
        if isinstance(module_key, str) and "." in module_key:
            found = self._import(module_key)
            self._register_module(module_name=module_key, module_cls=found)
            return found
        raise ValueError(f"Invalid module key: {module_key!r}; registered in {self._name} are "
                         f"{', '.join(sorted({*self._modules, *self._default_mapping}))}")

    def register_module(self, module_name=None, module_cls=None, force=False, lazy=False, *, name=None):
        """As a decorator, or with module_cls at once. force replaces what has the name."""
        if module_name is None:
            module_name = name
        if inspect.isclass(module_name) and module_cls is None:  # a decorator without its parentheses
            return self.register_module(None, module_name, force)
        if not (module_name is None or isinstance(module_name, str)):
            raise TypeError(f"module_name must be a string or None, not {type(module_name).__name__}")
        if module_cls is not None:
            self._register_module(module_name, module_cls, force)
            return module_cls

        def register(cls):
            self._register_module(module_name, cls, force)
            return cls

        return register

    def _register_module(self, module_name=None, module_cls=None, force=False):
        module_name = module_name or module_cls.__name__
        if module_name in self._modules and not force:
            raise KeyError(f"{module_name} is already registered in {self._name}, by {self._places[module_name]}; "
                           "choose another name, or say force=True")
        self._modules[module_name] = module_cls
        self._places[module_name] = place(module_cls)
        try:
            module_cls._name = module_name
        except (AttributeError, TypeError):
            pass  # a function of C or a frozen object

    def _import(self, path):
        module, _, what = path.rpartition(".")
        try:
            return getattr(importlib.import_module(module), what)
        except Exception as e:
            raise ImportError(f"Cannot import {what} from {module} (for {self._name}): {type(e).__name__}: {e}\n"
                              f"{traceback.format_exc()}") from e


def place(what):
    """The position of a class or function, as file:line."""
    try:
        file = inspect.getsourcefile(what)
        return f"{file}:{inspect.getsourcelines(what)[1]}"
    except (OSError, TypeError):
        return getattr(what, "__module__", "an unknown place")


class Refusing(Registry):
    """The registry of something that plug-ins cannot bring here. Registering works, so that files load that bring other
    things too; using a name is refused by the Go side, which is told the names."""

    def __init__(self, name, what, instead):
        super().__init__(name)
        self.what = what
        self.instead = instead

    def get(self, module_key):
        raise NotImplementedError(f"{self.what} {module_key!r} cannot be used here: {self.instead}")
