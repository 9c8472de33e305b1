"""Linear fractional models in files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.local_files import open_file, replaced_file
from titop.blocks.basics.user_input import check_suffix
from titop.blocks.bodies.modal_parameters import Share
from titop.solvers.lft.delta_blocks import DeltaBlock
from titop.solvers.lft.labels import signals_of
from titop.solvers.lft.moving import MovingCoordinate
from titop.solvers.lft.uncertainty import Member, Uncertain
from titop.solvers.linear.state_space import named_system
from titop.solvers.signals.exported import Signal
from titop.solvers.support.archive import Archive, write_archive

if TYPE_CHECKING:
    from control import StateSpace

_FORMAT = 2
_MATRICES = ("A", "B", "C", "D")
_SIGNALS = ("states", "inputs", "outputs")
_NUMBERS = ("dt", "block_numbers", "member_numbers", "share_numbers", "moving_numbers", "error")


#: The fields of a loaded model.
Loaded: TypeAlias = (
    "tuple[StateSpace, tuple[DeltaBlock, ...], tuple[Uncertain, ...], None, float, tuple[MovingCoordinate, ...]]"
)


class Saved(Protocol):
    """A linear fractional model."""

    @property
    def M(self) -> StateSpace: ...
    @property
    def blocks(self) -> tuple[DeltaBlock, ...]: ...
    @property
    def uncertain(self) -> tuple[Uncertain, ...]: ...
    @property
    def error(self) -> float: ...
    @property
    def moving(self) -> tuple[MovingCoordinate, ...]: ...


def mussv_rows(blocks: tuple[DeltaBlock, ...]) -> list[list[int]]:
    """Return the block structure as mussv takes it: ``[-r 0]`` real, ``[r 0]`` complex, ``[rows columns]`` full."""
    signs = {"real": -1, "complex": 1}
    return [[signs[b.kind] * b.repetitions, 0] if b.kind in signs else [b.repetitions, b.columns] for b in blocks]


def save_lft(model: Saved, path: str | Path) -> None:
    """Write a model to a file; see `LFTModel.save`."""
    check_suffix(path, ("npz", "mat"))
    arrays = _arrays(model)
    if Path(path).suffix.lower() == ".npz":
        write_archive(path, arrays)
        return
    from scipy.io import savemat

    names = {"block_names": "names", "states": "states", "inputs": "inputs", "outputs": "outputs"}
    texts = {
        key: np.array(arrays.pop(key), dtype=object)
        for key in [*names, "block_kinds", "block_units", "members", "shares", "moving"]
    }
    with replaced_file(path) as file:
        savemat(file, {**arrays, **texts}, do_compression=True)


def load_lft(path: str | Path) -> Loaded:
    """Return what a file says of a model, which knows no members any more."""
    check_suffix(path, ("npz", "mat"))
    if Path(path).suffix.lower() == ".npz":
        archive = Archive(path, "LFTModel.save")
        archive.check_format(_FORMAT)
        texts: dict[str, Any] = {name: archive.texts(name, None, 2) for name in (*_SIGNALS, "members", "moving")}
        texts["shares"] = archive.texts("shares", None, 3)
        texts |= {name: archive.names(name) for name in ("block_names", "block_kinds", "block_units")}
        n = [len(texts[name]) for name in _SIGNALS]
        shapes = (n[0], n[0]), (n[0], n[1]), (n[2], n[0]), (n[2], n[1])
        arrays: dict[str, Any] = {name: archive.array(name, *shape) for name, shape in zip(_MATRICES, shapes, strict=True)}
        arrays["block_numbers"] = archive.array("block_numbers", len(texts["block_names"]), 8)
        arrays["member_numbers"] = archive.array("member_numbers", len(texts["members"]), 2)
        arrays |= {name: archive.scalar(name, "f") for name in ("dt", "error")}
        arrays["share_numbers"] = archive.array("share_numbers", len(texts["shares"]), 2)
        arrays["moving_numbers"] = archive.array("moving_numbers", len(texts["moving"]), 5)
        return _model({**arrays, **texts}, archive.texts("name"))
    return _from_mat(path)


def _from_mat(path: str | Path) -> Loaded:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        with open_file(path) as file:
            found = loadmat(file)
        arrays = {name: np.asarray(found[name], dtype=float) for name in (*_MATRICES, *_NUMBERS)}
        arrays |= {name: arrays[name].item() for name in ("dt", "error")}
        for name in (*_SIGNALS, "members", "shares", "moving"):
            arrays[name] = [tuple(_text(x) for x in row) for row in found[name]]  # type: ignore[assignment]
        for name in ("block_names", "block_kinds", "block_units"):
            arrays[name] = tuple(_text(x) for x in found[name].ravel())  # type: ignore[assignment]
        return _model(arrays, _text(found["name"]))
    except (MatReadError, KeyError, ValueError, TypeError, IndexError, NotImplementedError) as error:
        expected, advice = "a file that LFTModel.save wrote", "check the path"
        raise ModelError(Finding("bad-file", str(path), f"{type(error).__name__}: {error}", expected, advice)) from None


def _text(value: Any) -> str:
    array = np.asarray(value).ravel()
    return str(array[0]) if array.size else ""


def _arrays(model: Saved) -> dict[str, Any]:
    M = model.M
    arrays: dict[str, Any] = {name: np.asarray(getattr(M, name)) for name in _MATRICES}
    arrays |= {name: np.array(own, dtype=str).reshape(-1, 2) for name, own in zip(_SIGNALS, signals_of(M), strict=True)}
    members = [(u.name, member) for u in model.uncertain for member in u.members]
    arrays["members"] = np.array([(name, member.path) for name, member in members], dtype=str).reshape(-1, 2)
    arrays["member_numbers"] = np.array([(m.middle, m.half) for _, m in members], dtype=float).reshape(-1, 2)
    shares = [(u.name, member.path, share) for u in model.uncertain for member in u.members for share in member.shares]
    arrays["shares"] = np.array([(name, path, share.name) for name, path, share in shares], dtype=str).reshape(-1, 3)
    arrays["share_numbers"] = np.array([share[1:] for *_, share in shares], dtype=float).reshape(-1, 2)
    blocks = model.blocks
    arrays["block_names"] = np.array([b.name for b in blocks], dtype=str)
    arrays["block_kinds"] = np.array([b.kind for b in blocks], dtype=str)
    arrays["block_units"] = np.array([b.unit for b in blocks], dtype=str)
    arrays["block_numbers"] = np.array([_block_numbers(b) for b in blocks], dtype=float).reshape(-1, 8)
    arrays["moving"] = np.array([(own.name, own.unit) for own in model.moving], dtype=str).reshape(-1, 2)
    arrays["moving_numbers"] = np.array([_numbers_of(own) for own in model.moving], dtype=float).reshape(-1, 5)
    arrays["blk"] = np.array(mussv_rows(blocks), dtype=float).reshape(-1, 2)
    arrays |= {"error": np.array(float(model.error)), "dt": np.array(float(M.dt or 0.0))}
    return arrays | {"name": np.array(str(M.name)), "format": np.array(_FORMAT)}


def _block_numbers(b: DeltaBlock) -> list[float]:
    """Return the numbers of a block; no degree is -1."""
    degree = -1 if b.degree is None else b.degree
    return [b.repetitions, b.columns, b.lower, b.upper, b.nominal, degree, b.part, b.of_outputs]


def _numbers_of(own: MovingCoordinate) -> list[float]:
    """Return the numbers of what moves; no degree and no error are no numbers."""
    return [math.nan if x is None else x for x in (own.nominal, own.lower, own.upper, own.degree, own.error)]


def _moving(texts: Any, numbers: Any) -> tuple[MovingCoordinate, ...]:
    found = []
    for (name, unit), (nominal, lower, upper, degree, error) in zip(texts, np.asarray(numbers).tolist(), strict=True):
        fit = (None, None) if math.isnan(degree) else (int(degree), error)
        found.append(MovingCoordinate(str(name), nominal, lower, upper, str(unit), *fit))
    return tuple(found)


def _model(arrays: dict[str, Any], name: str) -> Loaded:
    signals = [[Signal(*row) for row in arrays[key]] for key in _SIGNALS]
    M = named_system([arrays[key] for key in _MATRICES], signals[0], signals[1], signals[2], name, arrays["dt"])
    blocks = []
    texts = zip(arrays["block_names"], arrays["block_kinds"], arrays["block_units"], arrays["block_numbers"], strict=True)
    for own, kind, unit, (rows, columns, lower, upper, nominal, degree, part, of_outputs) in texts:
        ends, least = (float(lower), float(upper), float(nominal)), None if degree < 0 else int(degree)
        blocks.append(DeltaBlock(own, kind, int(rows), int(columns), *ends, unit, least, int(part), bool(of_outputs)))
    shares: dict[tuple[str, str], list[Share]] = {}
    for (own, path, share), (factor, exponent) in zip(arrays["shares"], arrays["share_numbers"], strict=True):
        shares.setdefault((own, path), []).append(Share(share, float(factor), float(exponent)))
    members: dict[str, list[Member]] = {}
    for (own, path), (middle, half) in zip(arrays["members"], arrays["member_numbers"], strict=True):
        follow = tuple(shares.get((own, path), ()))
        members.setdefault(own, []).append(Member(path, float(middle), float(half), follow))
    uncertain = tuple(Uncertain(block, tuple(members[block.name])) for block in blocks if block.name in members)
    return M, tuple(blocks), uncertain, None, arrays["error"], _moving(arrays["moving"], arrays["moving_numbers"])
