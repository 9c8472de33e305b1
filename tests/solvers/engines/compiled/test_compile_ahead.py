"""Compiling ahead: everything, once, by several processes."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections import Counter

import pytest

import titop as tt
from titop.solvers import kernels
from titop.solvers.cli import main
from titop.solvers.engines.compiled import law_kinds
from titop.solvers.engines.compiled.compile_ahead import compile_ahead, units
from titop.solvers.kernels.entries.pair import Pair
from titop.solvers.native import cache
from titop.solvers.native.kernel import Feature, Kernel


def test_every_kernel_and_feature_is_among_the_units() -> None:
    within = pkgutil.walk_packages(kernels.__path__, f"{kernels.__name__}.")
    modules = [importlib.import_module(info.name) for info in within]
    things = [thing for module in modules for thing in vars(module).values()]
    found = [thing for thing in things if isinstance(thing, Kernel | Feature)]
    found += [kernel for thing in things if isinstance(thing, Pair) for kernel in (thing.rigid, thing.mixed)]
    assert len(found) > 20
    assert {kernel.name for kernel in found} < units().keys()  # and the stages of kinds
    forced = {name for name in units() if name.endswith("_under_forces_in_lanes")}
    assert len(forced) == 10
    assert "entries_closure_entries_constrained_forward_under_forces_in_lanes" in forced


def test_places_of_laws_are_all_compiled_ahead() -> None:
    """Every name such as ``rod_stages.LAW`` in the module stands in one of its two tuples, too."""
    places = Counter(re.findall(r'"(\w+\.[A-Z]+)"', inspect.getsource(law_kinds)))
    named = {*law_kinds.LAWS, *law_kinds.ACTING}
    assert {place for place, count in places.items() if count > 1} <= named
    assert {place for place in places if place not in named} == set()
    assert {"rod_stages.LAW", "soft_contact.CONTACT"} <= named


def test_what_is_missing_is_compiled_and_kept(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    few = {
        name: unit
        for name, unit in units().items()
        if name in ("entries_dynamics_entries_put_wrench", "entries_moving_entries_configuration_rate")
    }
    assert len(few) == 2
    monkeypatch.setattr("titop.solvers.engines.compiled.compile_ahead.units", lambda: few)
    compile_ahead(2, progress=False)
    assert all(cache.read(unit.file) for unit in few.values())
    read, one = cache.read, few["entries_dynamics_entries_put_wrench"].file
    monkeypatch.setattr(cache, "read", lambda name: None if name == one else read(name))
    with pytest.raises(tt.ModelError, match="not-kept"):
        compile_ahead(1, progress=False)
    missing = {one}

    def read_later(name: str) -> bytes | None:
        if name in missing:
            missing.remove(name)
            return None
        return read(name)

    monkeypatch.setattr(cache, "read", read_later)
    assert main(["compile", "--workers", "1"]) == 0
    assert capsys.readouterr().out == "1 functions compiled\n"
    monkeypatch.undo()
    monkeypatch.setattr("titop.solvers.engines.compiled.compile_ahead.units", lambda: few)
    assert main(["compile"]) == 0
    assert capsys.readouterr().out == "everything was compiled already\n"


def test_without_a_folder_it_says_why(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(cache, "cache_folder", lambda: None)
    monkeypatch.setattr(cache, "obstacle", lambda: "/nowhere: Read-only file system")
    with pytest.raises(tt.ModelError, match="Read-only file system"):
        compile_ahead()
    assert main(["compile"]) == 1
    assert "TITOP_CACHE_DIR" in capsys.readouterr().err
