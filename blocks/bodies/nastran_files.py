"""Flexible bodies from the results of NASTRAN, read by pyYeti: normal modes, and reduced matrices (OP4, punch).

Reduced matrices are those of an external superelement (EXTSEOUT): ``body.op4``, or DMIG matrices in ``body.pch``, with the
boundary's grids in ``body.asm`` and the tables of recovery matrices in ``body.pch``. They go through the checks of
`titop.blocks.bodies.reduced_matrices`.

Normal modes, in OP2 files and listings (F06), are those of the body clamped at P, with modal participation factors (MEFFMASS)
and the rigid mass. A listing has no positions of grids, and an OP2 file none of grids with frames of their own: they come from
the bulk data. With the modal masses m, participation factors e and modes phi of the file::

    L = e sqrt(m)    Phi = phi / sqrt(m)    effective mass = e^2 m

Participation and rigid mass are about the basic origin, or about a reference grid, and are moved to P.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, missing_extra
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import NEGLIGIBLE, TINY, TYPED
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.element_matrices import rigid_motion
from titop.blocks.bodies.modal_reduction import rigid_data
from titop.blocks.bodies.reduced_matrices import FileUnits, read_units, reduce_boundary

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


# -- normal modes: OP2 files, and listings (F06) -----------------------------------------------------------------------


#: Data blocks of modes in an OP2 file, and whether they are in basic axes.
_SHAPES = {"BOPHIG": True, "BOUGV1": True, "OUGV1": False, "OUGV1S": False, "OPHIG": False}


class FileModes(NamedTuple):
    """Normal modes as a file has them, in its units."""

    frequencies: Array  #: (n): in rad a unit of time.
    masses: Array  #: (n): generalised masses.
    factors: Array | None  #: (n, 6): modal participation factors.
    effective: Array | None  #: (n, 6): modal effective masses, if the file has them.
    shapes: dict[int, Array]  #: (6, n) by grid: in the axes of its frame, or basic axes if `is_basic`.
    is_basic: bool
    rigid: Array | None  #: (6, 6): the rigid mass.
    about: int | None  #: The grid about which that is, 0 of the basic origin; None if it is that of the factors.
    places: dict[Hashable, Pose]  #: Positions, with the axes of the frames of displacements, as far as the file has them.


def nastran() -> Any:
    """Return the readers of pyYeti."""
    try:
        from pyyeti import nastran
    except ImportError as error:
        raise missing_extra("pyyeti", "nastran", "from_nastran", "a library that reads NASTRAN") from error
    return nastran


def _missing(file: Any, what: str, advice: str) -> ModelError:
    return ModelError(Finding("missing-results", str(file), f"no {what}", f"{what} in the file", advice))


def modes_of_op2(file: Path) -> FileModes:
    """Return the normal modes in an OP2 file."""
    with nastran().OP2(str(file)) as source:
        blocks = set(source.dbnames)
        values = _eigenvalues(source, file, blocks).reshape(-1, 7)
        names = [name for name in _SHAPES if name in blocks]
        if not names:
            raise _missing(file, "eigenvectors", "ask for VECTOR(PLOT) = ALL")
        vectors = source.rdop2oug(names[0])
        matrices = {key: np.asarray(value) for key, value in source.rdop2mats(lower=True).items()}
        weights = source.rdop2gpwg()
        positions = _positions(source, blocks)
    rigid = next((matrices[key] for key in ("rbmasss", "rbmass") if key in matrices), None)
    if rigid is None and weights is not None:
        rigid = np.asarray(weights["m66"])
    factors, effective = matrices.get("mpfacs"), matrices.get("mefmass")
    return FileModes(
        values[:, 3],
        values[:, 5],
        None if factors is None else factors.T,
        None if effective is None else effective.T,
        {int(grid): vectors.loc[[grid]].to_numpy(dtype=float) for grid in dict.fromkeys(vectors.index.get_level_values(0))},
        _SHAPES[names[0]],
        rigid,
        None,
        positions,
    )


def _eigenvalues(source: Any, file: Path, blocks: set[str]) -> Array:
    """Return the table of eigenvalues, as numbers in a row."""
    names = sorted(entry for entry in blocks if entry.startswith("LAMA"))
    if not names:
        raise _missing(file, "eigenvalues", "write them with PARAM,POST,-1")
    source.set_position(names[0])
    source.rdop2nt()
    source.skipop2record()
    return np.array(source.rdop2record("single"), dtype=float)


def _positions(source: Any, blocks: set[str]) -> dict[Hashable, Pose]:
    """Return the grids of an OP2 file, from its table BGPDT: pyYeti reads that of four words a grid, with their frames.

    Of twelve words a grid those are taken whose displacements are in basic axes.
    """
    name = next((name for name in ("BGPDT", "BGPDTS") if name in blocks), None)
    if name is None:
        return {}
    source.set_position(name)
    count = source.rdop2nt()[1][1]
    words = np.array(source.rdop2record())
    integers = 12 * count if words.dtype.itemsize == 4 else 9 * count  # six integers, and three numbers of eight bytes
    if words.size != integers:
        table = source.rdparampost(get_mats=False, get_dr_tables=False).get("uset")
        return {} if table is None else poses_of(table[table.index.get_level_values(1) > 0])
    rows = words.reshape(count, -1)
    places = np.ascontiguousarray(rows[:, 6:]).view(np.dtype("f8").newbyteorder(words.dtype.byteorder))
    return {int(row[2]): Pose(place.astype(float)) for row, place in zip(rows, places, strict=True) if row[0] == 0}


def poses_of(table: Any) -> dict[Hashable, Pose]:
    """Return the pose of each grid of a table of pyYeti's: its position, and the axes of its displacements."""
    numbers = [int(grid) for grid in dict.fromkeys(table.index.get_level_values(0))]
    partial = [grid for grid in numbers if len(table.loc[grid]) != 6]
    if partial:
        advice = "keep all six in the boundary (ASET 123456)"
        value = f"{len(table.loc[partial[0]])} degrees of freedom of grid {partial[0]}"
        raise ModelError(Finding("partial-grid", f"grid {partial[0]}", value, "grids with six degrees of freedom each", advice))
    motion = np.asarray(nastran().rbgeom_uset(table, np.zeros(3)))
    places = table.loc[:, "x":"z"].to_numpy()[::6]
    return {grid: Pose(places[k], motion[6 * k : 6 * k + 3, :3].T) for k, grid in enumerate(numbers)}


def modes_of_listing(file: Path) -> FileModes:
    """Return the normal modes in a listing (F06)."""
    library = nastran()
    tables = library.rdeigen(str(file), use_pandas=False)
    if not tables:
        raise _missing(file, "a table of eigenvalues", "a normal modes run (SOL 103) prints it")
    values = np.asarray([*tables.values()][-1])
    lines = file.read_text("utf-8", "replace").splitlines()
    factors, effective = (_modal_table(lines, title, len(values)) for title in ("PARTICIPATIONFACTORS", "EFFECTIVEMASS"))
    rigid, _, about, _ = library.rdgpwg(str(file))
    return FileModes(values[:, 3], values[:, 5], factors, effective, _vectors(lines, len(values)), False, rigid, about, {})


def _modal_table(lines: list[str], title: str, count: int) -> Array | None:
    """Return the six numbers of each mode (n, 6) under a title such as ``MODAL PARTICIPATION FACTORS``; None if not printed.

    Pages repeat the title. A row is the mode, its frequency and six numbers.
    """
    rows: dict[int, list[float]] = {}
    inside = False
    for line in lines:
        words = line.split()
        joined = "".join(words)
        if joined.startswith("MODAL"):
            inside = re.fullmatch(rf"MODAL{title}(\(?FOR.*)?", joined) is not None
        elif inside and len(words) == 8 and words[0].isdigit() and (row := _numbers(words[2:])) is not None:
            rows.setdefault(int(words[0]), row)
    return np.array([rows[k + 1] for k in range(count)]) if all(k + 1 in rows for k in range(count)) else None


def _vectors(lines: list[str], count: int) -> dict[int, Array]:
    """Return the printed eigenvectors (6, n) of each grid; those that are not printed for all modes are left out."""
    shapes: dict[int, Array] = {}
    mode = None
    for line in lines:
        words = line.split()
        title = re.search(r"REALEIGENVECTORNO\.(\d+)", "".join(words))
        if title is not None:
            mode = int(title[1])
        elif line.startswith("1") or (words and words[0] == "EIGENVALUE"):
            mode = None
        elif mode is not None and mode <= count and len(words) == 8 and words[1] == "G" and words[0].isdigit():
            row = _numbers(words[2:]) or [np.nan] * 6
            shapes.setdefault(int(words[0]), np.full((6, count), np.nan))[:, mode - 1] = row
    return {grid: shape for grid, shape in shapes.items() if np.isfinite(shape).all()}


def _numbers(words: list[str]) -> list[float] | None:
    try:
        return [float(word) for word in words]
    except ValueError:
        return None


def fields_of_modes(
    modes: FileModes, name: str, parent: int, ports: Mapping[str, int] | None, units: Any, reference: int | None
) -> dict[str, Any]:
    """Return the fields of the body of normal modes."""
    reader = FieldReader(name)
    scales = read_units(reader, units)
    if modes.factors is None:
        expected, advice = "modal participation factors", "ask for MEFFMASS(ALL) = YES"
        reader.report("missing-results", "participation", "nothing", expected, advice)
    if modes.rigid is None:
        advice = "ask for the grid point weight generator: PARAM,GRDPNT,0"
        reader.report("missing-results", "mass", "nothing", "the rigid mass (GPWG or RBMASS)", advice)
    ports = reader.mapping("ports", ports, "names to grids", '{"tip": 12}')
    about = reference or 0, modes.about if modes.about is not None else reference or 0
    wanted = {"parent": parent} | {f"ports.{port}": grid for port, grid in ports.items()}
    references = {field: grid for field, grid in zip(("reference", "mass"), about, strict=True) if grid}
    for field, grid in (wanted | references).items():
        if not isinstance(grid, Hashable) or grid not in modes.places:
            advice = did_you_mean(grid, modes.places) if modes.places else "give the bulk data by grids="
            reader.report("unknown-node", field, grid, "a grid whose position is known", advice)
        elif grid not in modes.shapes and field in wanted:
            advice = did_you_mean(grid, modes.shapes) if modes.shapes else "ask for VECTOR(PRINT, PLOT) = ALL"
            reader.report("unknown-node", field, grid, "a grid with eigenvectors", advice)
    if reader.findings or modes.factors is None or modes.rigid is None:
        raise ModelError(reader.findings)
    _check_modes(reader, modes, parent)
    reader.raise_findings()
    return _scaled_modes(modes, parent, ports, scales, about)


def _check_modes(reader: FieldReader, modes: FileModes, parent: int) -> None:
    """Report modes that are not those of a body clamped at P, or that contradict their effective masses."""
    moved = np.abs(modes.shapes[parent]).max(axis=1)
    largest = np.max([np.abs(shape).max(axis=1) for shape in modes.shapes.values()], axis=0)
    share = np.max(moved / np.maximum([largest[:3].max()] * 3 + [largest[3:].max()] * 3, TINY))
    if share > TYPED:
        value = f"modes that move grid {parent} by {share:.1e} of the largest displacement"
        reader.report("not-clamped", "parent", value, "modes of the body clamped there", "constrain all of its freedoms (SPC)")
    if modes.effective is not None and modes.factors is not None:
        expected = modes.factors**2 * modes.masses[:, None]
        scale = np.maximum(np.abs(modes.effective).sum(axis=0), TINY)
        if (np.abs(modes.effective - expected).max(axis=0) > NEGLIGIBLE * scale).any():
            value, expected_text = "effective masses that differ from factors squared times modal masses", "one set of modes"
            reader.report("inconsistent-modes", "participation", value, expected_text, "look for tables of another subcase")


def _scaled_modes(
    modes: FileModes, parent: int, ports: Mapping[str, int], units: FileUnits, about: tuple[int, int]
) -> dict[str, Any]:
    """Return the fields in SI units, about P, of modes of unit mass; factors and rigid mass are `about` two grids."""
    assert modes.factors is not None
    assert modes.rigid is not None
    root = np.sqrt(modes.masses)
    origin = modes.places[parent].position
    to_factors, to_rigid = (
        rigid_motion(((modes.places[grid].position if grid else np.zeros(3)) - origin)[None], 6) for grid in about
    )
    lever = np.array([1.0] * 3 + [units.length] * 3)
    participation = np.sqrt(units.mass) * (modes.factors * root[:, None]) @ to_factors * lever
    inertia = units.mass * (to_rigid.T @ modes.rigid @ to_rigid) * np.outer(lever, lever)
    mass, com, about_com = rigid_data((inertia + inertia.T) / 2)
    shapes = {}
    for port, grid in ports.items():
        axes = np.eye(3) if modes.is_basic else modes.places[grid].rotation
        turned = np.vstack([axes @ part for part in np.split(modes.shapes[grid], 2)])
        shapes[port] = turned / root / np.sqrt(units.mass) / lever[:, None]
    return {
        "mass": mass,
        "com": com,
        "inertia": about_com,
        "frequencies": modes.frequencies / units.time,
        "participation": participation,
        "ports": {port: (modes.places[grid].position - origin) * units.length for port, grid in ports.items()},
        "shapes": shapes,
    }
