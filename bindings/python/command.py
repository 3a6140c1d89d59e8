#!python
"""The command epiq of the Python package: it runs the program inside, without importing the package (and NumPy)."""
import importlib.util
import os
import sys

package = importlib.util.find_spec("epiq")
folders = (package and package.submodule_search_locations) or ["."]
program = os.path.join(folders[0], "bin", "epiq")
if not os.access(program, os.X_OK):
    sys.exit(f"epiq: the Python package epiq that {sys.executable} finds has no program in it; is PYTHONPATH set to another copy?")
os.execv(program, [program, *sys.argv[1:]])
