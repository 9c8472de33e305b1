"""Compiling all kernels in advance, so that later first calls need not wait: ``titop compile``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from importlib import import_module
from itertools import pairwise
from multiprocessing import get_context
from pkgutil import walk_packages
from typing import Any
from unittest.mock import patch

from titop.blocks.basics.errors import Finding, ModelError
from titop.solvers import kernels
from titop.solvers.engines.compiled.law_kinds import all_interactions, all_laws
from titop.solvers.kernels.entries.pair import Pair, under_forces
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.laws.compiled_laws import INWARD, OUTWARD
from titop.solvers.kernels.laws.lane_by_lane import OF_BLOCKS, OF_INTERACTIONS
from titop.solvers.native import cache, calling
from titop.solvers.native.identity import LANES_SETTING, WIDTHS, text_obstacle
from titop.solvers.native.kernel import Feature, Kernel, Unit
from titop.solvers.native.pieces import CodePiece, ship
from titop.solvers.native.signatures import IN_LANES, OF_MEMBERS
from titop.solvers.support.spread import spread

#: Features that steps of members with tables of their own call.
_OF_MEMBERS = {"quaternion_placing", "spring_efforts", "armature_gyroscopic", "elimination", "restoration", "load_application"}
_OF_MEMBERS |= {"interactions_asked", "interaction_application", "surroundings_asked"}
#: What each state of a stack may have wrenches of its own for, ahead of the first call; others are compiled then.
_UNDER_FORCES = {"inverse_dynamics", "forward_dynamics", "inverse_derivatives", "forward_derivatives", "constrained_forward"}


def units() -> dict[str, Unit]:
    """Return all units that titop may have to compile, by name."""
    return {unit.name: unit for group in _groups() for unit in group}


def _groups() -> list[list[Unit]]:
    """Return the units in groups that share most of their helpers, since each process compiles a helper once. The longest group
    comes first, so that parallel processes end at about the same time, and takes long enough that its process is left with the
    last, which shares more helpers with it than others do.
    """
    modules = [walk.name for walk in walk_packages(kernels.__path__, f"{kernels.__name__}.") if not walk.ispkg]
    held = [(name, thing) for name in modules for thing in vars(import_module(name)).values()]
    pairs = [(name, pair) for name, pair in held if isinstance(pair, Pair) and pair.mixed.function.__module__ == name]
    alone = [(name, unit) for name, unit in held if isinstance(unit, Kernel) and unit.function.__module__ == name]
    forced = [(name, under_forces(pair.stacked)) for name, pair in pairs if pair.rigid.function.__name__ in _UNDER_FORCES]
    pairs += [(name, form) for name, pair in pairs for form in (pair.stacked, pair.members) if form is not None]
    pairs += forced
    laws = [stage for law in all_laws() for stage in (law.terms, law.outward, law.inward, law.slopes, law.energy) if stage]
    laws += [stage for law in all_laws() if (acts := law.surroundings) for stage in (acts.apply, acts.apply_slopes)]
    laws += [OUTWARD, INWARD]
    acting = [stage for kind in all_interactions() for stage in kind if stage]
    features: list[Unit] = []
    for name, unit in held:
        if isinstance(unit, Feature) and unit.function.__module__ == name:
            features += [unit, unit.in_lanes] if unit.has_forms else [unit]
            features += [unit.of_members] if unit.function.__name__ in _OF_MEMBERS else []
    laws += [stage.in_lanes for stage in laws if stage.is_for_lanes] + [*OF_BLOCKS[IN_LANES].values()]
    laws += [OF_BLOCKS[OF_MEMBERS][stage] for stage in (layout.TERMS, layout.APPLY)]
    acting += [stage.in_lanes for stage in acting if stage.is_for_lanes] + [*OF_INTERACTIONS[IN_LANES].values()]
    acting += [stage.of_members for stage in acting if stage.is_for_members] + [OF_INTERACTIONS[OF_MEMBERS][layout.ACT]]
    rigid: list[Unit] = [pair.rigid for _, pair in pairs if pair.rigid is not pair.mixed]
    whole: list[Unit] = [*(pair.mixed for _, pair in pairs), *(unit for _, unit in alone)]
    return [whole, [*acting], [*laws], [*features], rigid]


def compile_ahead(workers: int | None = None, progress: bool = True) -> int:
    """Compile what the cache does not have yet; return how many functions that were.

    Raises `ModelError` if there is no folder to keep machine code in, if it does not keep it, if a process dies, or if kernels
    are called through numba (see ``TITOP_CALLS`` in ``examples/pages/speed.md``).

    Parameters
    ----------
    workers : int, optional
        Number of processes; by default as many as there are processors.
    progress : bool
        Whether a terminal shows a progress bar.
    """
    if reason := calling.obstacle():
        advice = "nothing needs to be done: every process compiles what it uses"
        raise ModelError(Finding("not-native", "kernels", reason, "a Python whose objects titop reads itself", advice))
    if cache.cache_folder() is None:
        advice = "set TITOP_CACHE_DIR to a folder of your own"
        raise ModelError(Finding("no-cache", "cache", cache.obstacle(), "a folder for machine code", advice))
    missing = [name for name, unit in units().items() if not unit.is_kept]
    for _ in _spread(_compiling, missing, workers, progress):
        pass
    if lost := [name for name in missing if not units()[name].is_kept]:
        advice = "make space there, or set TITOP_CACHE_DIR to another folder"
        raise ModelError(Finding("not-kept", str(cache.cache_folder()), f"no code of {lost[0]}", "a file that stays", advice))
    return len(missing)


def write_for_wheels(workers: int | None = None, progress: bool = True) -> int:
    """Write everything in LLVM's language, for lanes of all widths, into titop's own folder; return the number of functions.

    From there a wheel takes it along, so that those who install it never wait for numba, whatever their processor and Python.
    Raises `ModelError` if a process dies, if titop's folder cannot be written, or if what numba makes here is not for all.
    """
    if reason := calling.obstacle() or text_obstacle():
        raise ModelError(Finding("no-wheel", "kernels", reason, "code for everyone", "build a wheel without it"))
    pieces: dict[str, CodePiece] = {}
    for width in WIDTHS:
        names = [name for name, unit in units().items() if unit.form or width == WIDTHS[0]]
        begun = ProcessPoolExecutor(workers, get_context("spawn"))  # which read the setting
        with patch.dict(os.environ, {LANES_SETTING: width}), begun as crew:
            for found in _spread(_writing, names, workers, progress, crew):
                pieces |= found
    try:
        ship(pieces)
    except OSError as error:
        reason = f"{error.filename}: {error.strerror or error}"
        raise ModelError(
            Finding("no-wheel", "titop's folder", reason, "one that can be written", "use a clone of titop")
        ) from None
    return len(pieces)


def _spread(
    work: Callable[[], Any], missing: Sequence[str], workers: int | None, progress: bool, crew: Executor | None = None
) -> Iterator[Any]:
    """Yield what several processes, perhaps those of a crew, make of units."""
    from tqdm import tqdm

    workers = workers or os.cpu_count() or 1
    parts = max(1, workers // 2)
    groups = [[unit.name for unit in group if unit.name in missing] for group in _groups()]
    cuts = [[len(names) * k // parts for k in range(parts + 1)] for names in groups]
    tasks = [names[i:j] for names, at in zip(groups, cuts, strict=True) for i, j in pairwise(at) if i < j]
    with tqdm(total=len(missing), desc="compiling", disable=None if progress else True, leave=False) as bar:
        for results in spread(tasks, _each, (work,), crew or workers, _died):
            bar.update(len(results))
            yield from results


def _each(work: Callable[[], Callable[[str], Any]]) -> Callable[[list[str]], list[Any]]:
    done = work()
    return lambda names: [done(name) for name in names]


def _compiling() -> Callable[[str], None]:
    known = units()
    return lambda name: known[name].compile_quietly()


def _writing() -> Callable[[str], dict[str, CodePiece]]:
    known = units()
    return lambda name: known[name].pieces()


def _died(names: list[str], how: str) -> ModelError:
    where = ", ".join(names)
    return ModelError(Finding("worker-died", where, how, "machine code", "compile with fewer workers; it may want memory"))
