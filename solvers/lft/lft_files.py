"""Linear fractional models in files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.user_input import check_suffix
from titop.blocks.contract.description import Share
from titop.solvers.lft.delta_blocks import DeltaBlock
from titop.solvers.lft.moving_equilibria import MovingCoordinate
from titop.solvers.lft.uncertainty import NamedRange, Uncertain
from titop.solvers.linear.path_series import PathTiming
from titop.solvers.linear.state_space import named_signals, named_system
from titop.solvers.signals.exported import Signal
from titop.solvers.support.archive import FORMATS, Archive, write_archive

if TYPE_CHECKING:
    from control import StateSpace

_FORMAT = 2
_MATRICES = ("A", "B", "C", "D")
_SIGNALS = ("states", "inputs", "outputs")
#: Tables of texts, and how many stand in a row; and lists of them.
_TEXTS = {**dict.fromkeys((*_SIGNALS, "members", "moving"), 2), "shares": 3}
_NAMES = ("block_names", "block_kinds", "block_units")
#: Tables of numbers: a row for each of which texts, and how many stand in it.
_NUMBERS = {
    "block_numbers": ("block_names", 8),
    "member_numbers": ("members", 2),
    "share_numbers": ("shares", 2),
    "moving_numbers": ("moving", 5),
    "path_numbers": ("paths", 2),
}
_SCALARS = ("dt", "error")


def mussv_rows(blocks: Sequence[DeltaBlock]) -> list[list[int]]:
    """Return the block structure as mussv takes it: ``[-r 0]`` real, ``[r 0]`` complex, ``[rows columns]`` full."""
    signs = {"real": -1, "complex": 1}
    return [[signs[b.kind] * b.repetitions, 0] if b.kind in signs else [b.repetitions, b.columns] for b in blocks]


def save_lft(
    path: str | Path,
    M: StateSpace,
    blocks: Sequence[DeltaBlock],
    uncertain: Sequence[Uncertain],
    error: float,
    moving: Sequence[MovingCoordinate],
    paths: Sequence[PathTiming],
) -> None:
    """Write a model to a file; see `LFTModel.save`."""
    members = [(u.name, member) for u in uncertain for member in u.members]
    shares = [(name, member.path, share) for name, member in members for share in member.shares]
    texts: dict[str, list[Any]] = {
        **dict(zip(_SIGNALS, named_signals(M), strict=True)),
        "members": [(name, member.path) for name, member in members],
        "shares": [(name, path, share.name) for name, path, share in shares],
        "moving": [(m.name, m.unit) for m in moving],
        "paths": [timing.path for timing in paths],
        **dict(zip(_NAMES, ([b.name for b in blocks], [b.kind for b in blocks], [b.unit for b in blocks]), strict=True)),
    }
    numbers: dict[str, list[Any]] = {
        "block_numbers": [_block_numbers(b) for b in blocks],
        "member_numbers": [(member.middle, member.half) for _, member in members],
        "share_numbers": [share[1:] for *_, share in shares],
        "moving_numbers": [(m.nominal, m.lower, m.upper, m.degree, m.error) for m in moving],  # None: not a number
        "path_numbers": [timing[1:] for timing in paths],
    }
    arrays: dict[str, Any] = {name: np.asarray(getattr(M, name)) for name in _MATRICES}
    arrays |= {name: np.array(rows, dtype=float).reshape(-1, _NUMBERS[name][1]) for name, rows in numbers.items()}
    arrays["blk"] = np.array(mussv_rows(blocks), dtype=float).reshape(-1, 2)
    arrays |= {"error": np.array(float(error)), "dt": np.array(float(M.dt or 0.0))}
    arrays |= {"name": np.array(str(M.name)), "format": np.array(_FORMAT)}
    labels = {name: np.array(rows, dtype=str) for name, rows in texts.items()}
    labels |= {name: labels[name].reshape(-1, width) for name, width in _TEXTS.items()}
    write_archive(path, arrays | labels, FORMATS)


def load_lft(path: str | Path) -> tuple[Any, ...]:
    """Return the fields of the model in a file, which knows no members any more."""
    check_suffix(path, FORMATS)
    archive = Archive(path, "LFTModel.save")
    archive.check_format(_FORMAT)
    tables: dict[str, Any] = {name: archive.texts(name, None, width) for name, width in _TEXTS.items()}
    tables |= {name: archive.names(name) for name in (*_NAMES, "paths")}
    tables |= {name: archive.array(name, len(tables[of]), width) for name, (of, width) in _NUMBERS.items()}
    tables |= {name: archive.scalar(name, "f") for name in _SCALARS}
    x, u, y = (len(tables[name]) for name in _SIGNALS)
    shapes = (x, x), (x, u), (y, x), (y, u)
    tables |= {name: archive.array(name, *shape) for name, shape in zip(_MATRICES, shapes, strict=True)}
    return _model(tables, archive.texts("name"))


def _block_numbers(b: DeltaBlock) -> list[float]:
    degree = -1 if b.degree is None else b.degree
    return [b.repetitions, b.columns, b.lower, b.upper, b.nominal, degree, b.part, b.of_outputs]


def _block(name: str, kind: Any, unit: str, numbers: Sequence[float]) -> DeltaBlock:
    rows, columns, lower, upper, nominal, degree, part, of_outputs = numbers
    least = None if degree < 0 else int(degree)
    return DeltaBlock(name, kind, int(rows), int(columns), lower, upper, nominal, unit, least, int(part), bool(of_outputs))


def _moving(texts: Sequence[str], numbers: Sequence[float]) -> MovingCoordinate:
    (name, unit), (nominal, lower, upper, degree, error) = texts, numbers
    fit = (None, None) if math.isnan(degree) else (int(degree), error)
    return MovingCoordinate(str(name), nominal, lower, upper, str(unit), *fit)


def _model(tables: dict[str, Any], name: str) -> tuple[Any, ...]:
    states, inputs, outputs = ([Signal(*row) for row in tables[key]] for key in _SIGNALS)
    M = named_system([tables[key] for key in _MATRICES], states, inputs, outputs, name, tables["dt"])
    rows: dict[str, Any] = {key: tables[key].tolist() for key in _NUMBERS}
    blocks = tuple(map(_block, *(tables[key] for key in _NAMES), rows["block_numbers"]))
    shares: dict[tuple[str, str], list[Share]] = {}
    for (of, path, share), numbers in zip(tables["shares"], rows["share_numbers"], strict=True):
        shares.setdefault((of, path), []).append(Share(share, *numbers))
    parts, members = {block.name: block.part for block in blocks}, dict[str, list[NamedRange]]()
    for (of, path), (middle, half) in zip(tables["members"], rows["member_numbers"], strict=True):
        following = tuple(shares.get((of, path), ()))
        members.setdefault(of, []).append(NamedRange(path, of, middle, half, parts.get(of, 0), following))
    uncertain = tuple(Uncertain(block, tuple(members[block.name])) for block in blocks if block.name in members)
    moving = tuple(map(_moving, tables["moving"], rows["moving_numbers"]))
    paths = tuple(PathTiming(path, *times) for path, times in zip(tables["paths"], rows["path_numbers"], strict=True))
    return M, blocks, uncertain, None, tables["error"], moving, paths
