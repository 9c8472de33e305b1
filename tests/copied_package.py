"""A copy of the package whose sources tests may edit, run in processes of its own with a cache of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: Prints where the package stands, a number that passes through a helper (`write_rates` in kinematics.py) of a small kernel,
#: and whether numba was loaded.
SCRIPT = """
import sys
import numpy as np, titop
from titop.solvers.kernels.entries import moving_entries
from titop.solvers.kernels.interface import layout
ints = np.zeros((2, layout.INT_COLUMNS), int)
ints[0, [layout.ELEMENTS, layout.NQ, layout.NV]], ints[1, layout.KIND] = (2, 1, 1), layout.AXIAL
rates = np.zeros((1, 1))
moving_entries.configuration_rate(ints, np.zeros((2, 0), int), np.zeros((1, 1)), np.array([[-0.5]]), rates)
print(titop.__file__, rates[0, 0], "numba" in sys.modules)
"""

#: What the script prints before and after the edit.
BEFORE, AFTER = -0.5, -1.0


def copy_package(folder: Path) -> CopiedPackage:
    """Return a copy of titop in a folder, without machine code."""
    copied = CopiedPackage(folder)
    for name in ("blocks", "graph", "solvers"):
        ignored = shutil.ignore_patterns("__pycache__", "shipped")
        shutil.copytree(ROOT / name, copied.package / name, ignore=ignored)
    for name in ("__init__.py", "__init__.pyi"):
        shutil.copy(ROOT / name, copied.package)
    return copied


class CopiedPackage:
    """A copy of titop that stands in a folder, and its cache beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.package, self.cache = folder, folder / "titop", folder / "cache"

    def run(self, **settings: str) -> tuple[float, bool]:
        """Return the number, and whether numba was loaded."""
        file, number, loaded = self.output(SCRIPT, **settings).split()
        assert Path(file).parent == self.package
        return float(number), loaded == "True"

    def output(self, script: str, **settings: str) -> str:
        """Return what a script prints."""
        environment = os.environ | {"PYTHONPATH": str(self.folder), "TITOP_CACHE_DIR": str(self.cache)} | settings
        command = [sys.executable, "-c", script]
        return subprocess.run(command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout

    def edit(self) -> None:
        """Double the number, in a helper of the kernel."""
        helper = self.package / "solvers" / "kernels" / "tree" / "kinematics.py"
        source = helper.read_text()
        edited = source.replace("            rates[k] = v[j]\n", "            rates[k] = 2 * v[j]\n")
        assert edited != source
        helper.write_text(edited)

    def kept(self) -> dict[Path, int]:
        """Return the files of the cache and when they were written."""
        return {path: path.stat().st_mtime_ns for path in self.cache.rglob("*") if path.is_file()}
