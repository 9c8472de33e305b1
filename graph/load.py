"""Systems from model files."""

from __future__ import annotations

import os

from titop.graph.files.file_loading import load_as
from titop.graph.system import System


def load(source: str | os.PathLike[str]) -> System:
    """Read a system from a model file or its text; nothing in it is executed.

    Parameters
    ----------
    source : str or Path
        Path of the file; a `str` of several lines is the text itself.

    Raises
    ------
    ModelError
        Listing all errors of the file, each with its dotted place; with line and column if it is not TOML. Errors of the
        system that it describes are reported when the system is resolved.

    Warns
    -----
    ModelWarning
        For a file that does not define gravity.

    Examples
    --------
    >>> system = load('''
    ... format = "titop"
    ... version = 1
    ... [system]
    ... name = "pendulum"
    ... gravity = [0, 0, -9.81]
    ... [parameters]
    ... length = 0.8
    ... [bodies.bob]
    ... type = "rigid"
    ... mass = 2
    ... com = [0, 0, "-length"]
    ... [joints.hinge]
    ... type = "revolute"
    ... parent = "world"
    ... child = "bob"
    ... axis = [1, 0, 0]
    ... ''')
    >>> system.resolve().mass_matrix([0.0]).round(3).tolist()
    [[1.28]]
    """
    return load_as(System, source)
