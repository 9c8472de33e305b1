"""Compiling everything ahead, so that nobody waits for it later: ``titop compile``."""

from __future__ import annotations

import os
from collections.abc import Callable

from titop.blocks.errors import Finding, ModelError
from titop.solvers.kernels import cache, calling, closure_entries, derivative_entries, entries
from titop.solvers.kernels.kernel import Kernel, Pair, Unit
from titop.solvers.laws import INTERACTIONS, KINDS
from titop.solvers.workers import spread


def units() -> dict[str, Unit]:
    """Return all that titop may have to compile, by name: what takes longest first."""
    found: list[Unit] = []
    for module in (derivative_entries, closure_entries, entries):
        for thing in vars(module).values():
            found += [thing] if isinstance(thing, Kernel) else thing if isinstance(thing, Pair) else []
    found += [stage for law in KINDS.values() for stage in (law.terms, law.linear_terms)]
    found += [stage for kind in INTERACTIONS.values() for stage in (kind.act, kind.stored)]
    return {unit.name: unit for unit in found}


def compile_ahead(workers: int | None = None, progress: bool = True) -> int:
    """Compile what the cache does not have yet; return how many functions that were.

    Parameters
    ----------
    workers : int, optional
        Number of processes; by default as many as there are processors.
    progress : bool
        Whether a terminal shows a progress bar.

    Raises
    ------
    ModelError
        If there is no folder to keep machine code in, if it does not keep it, if a process dies, or if kernels are called
        through numba (see ``TITOP_CALLS`` in the README).
    """
    from tqdm import tqdm

    if reason := calling.obstacle():
        advice = "nothing needs to be done: every process compiles what it uses"
        raise ModelError(Finding("not-native", "kernels", reason, "a Python whose objects titop reads itself", advice))
    if cache.cache_folder() is None:
        advice = "set TITOP_CACHE_DIR to a folder of your own"
        raise ModelError(Finding("no-cache", "cache", cache.obstacle(), "a folder for machine code", advice))
    missing = [name for name in units() if cache.read(name) is None]
    done = spread(missing, _compiling, (), workers or os.cpu_count() or 1, _died)
    for _ in tqdm(done, total=len(missing), desc="compiling", disable=None if progress else True, leave=False):
        pass
    if lost := [name for name in missing if cache.read(name) is None]:
        advice = "make room there, or set TITOP_CACHE_DIR to another folder"
        raise ModelError(Finding("not-kept", str(cache.cache_folder()), f"no code of {lost[0]}", "a file that stays", advice))
    return len(missing)


def _compiling() -> Callable[[str], None]:
    known = units()
    return lambda name: known[name].compile_quietly()


def _died(name: str, how: str) -> ModelError:
    return ModelError(Finding("worker-died", name, how, "machine code", "compile with fewer workers; it may want memory"))
