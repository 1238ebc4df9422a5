"""Breaks the guard in every process that finds this folder on PYTHONPATH: an effect just runs its body. Only a test puts it there."""

import importlib.abc
import importlib.util
import sys


class _Breaking(importlib.abc.MetaPathFinder):
    """Lets the module be loaded as it is, then replaces what guards in it."""

    def find_spec(self, name, path, target=None):
        if name != "call4agents_langgraph._once":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            module.perform = lambda ledger, call, body, **_: body()

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, _Breaking())
