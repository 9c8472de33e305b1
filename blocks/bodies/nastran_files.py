"""Flexible bodies from the results of NASTRAN, read by pyYeti: normal modes, and reduced matrices (OP4, punch).

Reduced matrices are those of an external superelement (EXTSEOUT): ``body.op4``, or DMIG matrices in ``body.pch``, with the
boundary's grids in ``body.asm`` and the tables of recovery matrices in ``body.pch``. They go through the checks of
`titop.blocks.bodies.reduced_matrices`. For normal modes see `titop.blocks.bodies.nastran_modes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.nastran_modes import fields_of_modes, modes_of_listing, modes_of_op2, nastran, poses_of
from titop.blocks.bodies.reduced_matrices import reduce_boundary

#: Of the files that are read.
SUFFIXES = ("op4", "op2", "f06", "pch", "asm")
#: Names of matrices in files of superelements: stiffness, mass and damping.
_REDUCED = (("kxx", "mxx", "bxx"), ("kaax", "maax", "baax"), ("kaa", "maa", "baa"), ("kxx", "mxx", "bxx1"))
#: Recovery matrices, and the table of the rows of each: displacements, stresses, strains, forces.
_RECOVERY = {"mug1": "TUG1", "mes1": "TES1", "mee1": "TEE1", "mef1": "TEF1"}
#: Suffixes of files of bulk data.
_BULK = (".asm", ".bdf", ".dat", ".nas", ".blk")


def nastran_fields(
    path: Any, name: str, parent: int, ports: Mapping[str, int] | None, units: Any, grids: Any, reference: int | None
) -> dict[str, Any]:
    """Return the fields of a `FlexibleBody` from a file of NASTRAN; see `FlexibleBody.from_nastran`."""
    file = _existing(name, "path", path)
    if file.suffix.lower() in (".op2", ".f06"):
        modes = _read(file, modes_of_op2 if file.suffix.lower() == ".op2" else modes_of_listing, name)
        bulk = _existing(name, "grids", grids) if grids is not None else None if modes.places else _beside(file)
        if bulk is not None:
            modes = modes._replace(places=_read(bulk, lambda file: poses_of(nastran().bulk2uset(str(file))[0]), name))
        return fields_of_modes(modes, name, parent, ports, units, reference)
    bulk = _beside(file, (".asm",)) if grids is None else _existing(name, "grids", grids)
    if bulk is None:
        advice = "give it by grids=, or take the matrices by FlexibleBody.from_craig_bampton"
        raise ModelError(Finding("no-file", f"{name}.grids", f"no .asm beside {file}", "the grids of the boundary", advice))
    mass, stiffness, damping, boundary, recovery = _read(file, lambda entry: _superelement(entry, bulk), name)
    return reduce_boundary(name, mass, stiffness, boundary, ports, parent, units, damping, recovery)


def _existing(name: str, field: str, path: Any) -> Path:
    file = Path(path) if isinstance(path, str | PathLike) else None
    if file is None or not file.is_file():
        raise ModelError(Finding("no-file", f"{name}.{field}", str(path), "a file of NASTRAN", "check the path"))
    return file


def _beside(file: Path, suffixes: tuple[str, ...] = _BULK) -> Path | None:
    """Return the first file of the same name with one of the suffixes."""
    return next((other for suffix in suffixes if (other := file.with_suffix(suffix)).is_file()), None)


def _read(file: Path, reader: Callable[[Path], Any], name: str) -> Any:
    """Return what a reader makes of a file; what it raises about files it does not know becomes a `ModelError`."""
    nastran()
    try:
        return reader(file)
    except ModelError:
        raise
    except Exception as error:
        what = f"{file}: {str(error).splitlines()[0] if str(error).strip() else type(error).__name__}"
        advice = "check that the run ended well, and that the file has what its suffix says"
        raise ModelError(Finding("unreadable-file", f"{name}.path", what, "a file that pyYeti reads", advice)) from error


# -- reduced matrices -------------------------------------------------------------------------------------------------


def _superelement(file: Path, bulk: Path) -> tuple[Any, ...]:
    """Return mass, stiffness, damping (or None), boundary and recovery matrices of an external superelement."""
    library = nastran()
    punch = file.with_suffix(".pch")
    has_freedoms = bulk.suffix == ".asm" and bulk.with_suffix(".pch").is_file()
    table, _, is_boundary = library.asm2uset(str(bulk), try_rdextrn=has_freedoms)
    order = [tuple(entry) for entry in table.index]
    source = file.with_suffix(".op4") if file.suffix.lower() == ".asm" else file
    if source.suffix.lower() == ".op4" and source.is_file():
        matrices = {key: np.asarray(value) for key, value in library.op4.read(str(source)).items()}
    else:
        frames = library.rddmig(str(punch), square=True)
        matrices = {
            key: frame.reindex(order, axis=0).reindex(order, axis=1).fillna(0.0).to_numpy() for key, frame in frames.items()
        }
    names = next((names for names in _REDUCED if {*names[:2]} <= {*matrices}), None)
    if names is None:
        listed = ", ".join(sorted(matrices)) or "no matrices"
        advice = "run with EXTSEOUT(ASMBULK, EXTID=...), or take matrices of other names by from_craig_bampton"
        raise ModelError(Finding("no-matrices", str(file), listed, "KXX and MXX, or KAAX and MAAX", advice))
    stiffness, mass = matrices[names[0]], matrices[names[1]]
    size = len(order)
    damping = matrices.get(names[2])
    if damping is not None and damping.shape != (size, size):
        damping = None  # a placeholder of one number
    recovery: dict[str, Array] = {}
    for key, rows in _RECOVERY.items():
        if key in matrices and matrices[key].shape[1] == size:
            recovery |= _named_rows(key.upper(), matrices[key], _table(punch, rows))
    columns = np.concatenate([np.flatnonzero(is_boundary), np.flatnonzero(~np.asarray(is_boundary))])
    square = np.ix_(columns, columns)
    sorted_rows = {key: rows[:, columns] for key, rows in recovery.items()}
    boundary = poses_of(table[np.asarray(is_boundary)])
    return mass[square], stiffness[square], None if damping is None else damping[square], boundary, sorted_rows


def _table(punch: Path, name: str) -> Array | None:
    """Return the identifier (k) of each row of a recovery matrix, None if the punch file does not have its table."""
    if not punch.is_file() or not re.search(rf"^DTI +{name} +2", punch.read_text("utf-8", "replace"), re.MULTILINE):
        return None
    return np.asarray(nastran().rddtipch(str(punch), name))[:, 0]


def _named_rows(name: str, rows: Array, owners: Array | None) -> dict[str, Array]:
    """Return the rows of each grid or element: ``MEF1.10``; all of them as ``MEF1`` if their table is not known."""
    if owners is None or len(owners) != len(rows):
        return {name: rows}
    return {f"{name}.{owner}": rows[owners == owner] for owner in dict.fromkeys(owners.tolist())}
