"""How this Python is started once more. The new process imports nothing from the current folder.

That folder may hold a stranger's files: a `pip.py` or a `json.py` there would run in place of the module it is named
after. So each command has `-I` or `-P`, and a folder of its own (`SAFE_FOLDER`) unless the user has named one.
"""

from __future__ import annotations

import os
import sys

SAFE_FOLDER = os.path.abspath(os.sep)
_RUN = """
import importlib.util, runpy, sys
_, module, package, *folders = sys.argv
sys.path += folders
spec = importlib.util.spec_from_file_location(
    'treadle', package + '/__init__.py', submodule_search_locations=[package]
)
sys.modules['treadle'] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules['treadle'])
sys.argv = [module]
runpy.run_module(module, run_name='__main__', alter_sys=True)
"""
"""Loads this very package, whatever other one is installed, and nothing else from the folder it lies in."""


def module_command(module: str) -> list[str]:
    """The command that runs one of our modules; packages are found where this process finds them."""
    package = os.path.dirname(os.path.abspath(__file__))
    current = os.path.realpath(os.getcwd())
    kept = [path for path in sys.path if os.path.isabs(path) and os.path.realpath(path) != current]
    # Behind the standard library and the packages of the new process: these win.
    folders = dict.fromkeys([*kept, os.path.dirname(package)])
    return [sys.executable, "-I", "-c", _RUN, module, package, *folders]


def pip_command(*arguments: str) -> list[str]:
    """The command that runs pip with the user's settings and packages, which `-I` would leave out."""
    return [sys.executable, "-P", "-m", "pip", *arguments]
