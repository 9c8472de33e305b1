"""Machine code that came with titop in its wheel: for all processors of a kind, while the cache's is for the one it is made on.

It lies in a folder of the package whose name says what it was made from and for (`identity.wheel_name`); where that is not what
runs now, it is not looked at. Folders for several Pythons may lie side by side.
"""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from titop.solvers.native.identity import wheel_name, wheel_obstacle

_FOLDER = Path(__file__).with_name("machine_code")


@functools.cache
def shipped_folder() -> Path | None:
    """Return the folder of machine code that came with titop and can be run in this process, or None where there is none."""
    if not _FOLDER.is_dir() or wheel_obstacle():
        return None
    folder = _FOLDER / wheel_name()
    return folder if folder.is_dir() else None


@contextmanager
def shipping() -> Iterator[Path]:
    """Give a folder within the package; the one folder that is then made in it comes with titop, all of it or nothing."""
    _FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=_FOLDER) as scratch:
        yield Path(scratch)
        (kept,) = Path(scratch).iterdir()
        new, folder = Path(scratch) / "new", _FOLDER / wheel_name()
        shutil.copytree(kept, new, copy_function=shutil.copyfile)  # for everyone to read, which the cache is not
        new.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(new, folder)
