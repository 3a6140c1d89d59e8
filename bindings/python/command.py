#!python
"""The command epiq of the Python package: it runs the program inside, without importing the package (and NumPy)."""
import importlib.util
import os
import sys

package = importlib.util.find_spec("epiq")
if package is None or not package.submodule_search_locations:
    sys.exit("epiq: the Python package epiq is not installed for " + sys.executable)
program = os.path.join(package.submodule_search_locations[0], "bin", "epiq")
os.execv(program, [program, *sys.argv[1:]])
