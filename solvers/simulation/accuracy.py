"""The absolute tolerances of all states: from one number, or from numbers by names and units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, refuse
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import read_number
from titop.blocks.contract.own_coordinates import rate_unit
from titop.solvers.arguments.reading import shorten
from titop.solvers.model.model import Model

#: Stands for all that nothing else names.
_REST = "default"
#: Units that may be named whether or not a model has them.
_USUAL = ("m", "rad", rate_unit("m"), rate_unit("rad"))
#: What a tolerance is given for: the name of a state, joint or block, a unit, or a joint or block and a unit.
_Key = str | tuple[str, str]


def read_positive(name: str, value: Any) -> float:
    """Return a positive number; only ``"max_step"`` may be infinite. Raises `ModelError` for anything else."""
    advice = "leave it out for no bound" if name == "max_step" else "1e-8 suits most simulations"
    wrong = Finding("bad-tolerance", name, value, "a positive number", advice)
    return read_number(wrong, lambda x: 0 < x < np.inf or (name == "max_step" and x == np.inf))


class AbsoluteTolerances:
    """The absolute tolerances of a model's states; `atol` as in `simulate`.

    Raises `ModelError` for numbers that are not positive, names and units that the model does not have, one number for several
    units, names of two things, and states without a tolerance.
    """

    def __init__(self, model: Model, atol: Any) -> None:
        if not isinstance(atol, Mapping):
            self._given: dict[_Key, float] = {_REST: read_positive("atol", atol)}
            self._known = np.full(model.nq + model.nv + model.nx, self._given[_REST])
            return
        self._given = dict(_numbers(atol))
        coordinates = list(zip(model.coordinate_names, model.mechanism.assembly.coordinate_units, strict=True))
        states = list(zip(model.state_names, model.mechanism.inputs.state_units, strict=True))
        keys = [[_keys(*each) for each in coordinates], [_keys_of_rate(*each) for each in coordinates]]
        keys += [[_keys(*each) for each in states]]
        refuse(self._wrong_names(coordinates + states, keys[0] + keys[1] + keys[2]))
        positions, rates, x = (np.array([self._of(*each) for each in part]) for part in keys)
        self._known = np.concatenate([_of_configuration(model, positions), rates, x])

    def _wrong_names(self, named: list[tuple[str, str]], keys: list[tuple[_Key, ...]]) -> Iterator[Finding]:
        known = dict.fromkeys([*(key for each in keys for key in each), *_USUAL, _REST])
        for key in self._given:
            if key not in known:
                advice = did_you_mean(key, [each for each in known if isinstance(each, type(key))])
                yield Finding("unknown-name", "atol", key, "a name or unit of the model's states", advice)
        names, owners = {name for name, _ in named}, {owner_of(name) for name, _ in named}
        twice = owners & {*_USUAL, _REST, *(unit for _, unit in named), *(rate_unit(unit) for _, unit in named)}
        twice |= names & {f"{owner}.v" for owner in owners}
        for key in sorted(twice & self._given.keys()):
            advice = "rename the block or coordinate, or write {block: {unit: ...}}"
            yield Finding("ambiguous-name", f"atol[{key!r}]", "a name of two things", "a name of one", advice)
        units_of: dict[str, dict[str, None]] = {}
        for name, unit in named:
            units_of.setdefault(owner_of(name), {})[unit] = None
        for owner, units in units_of.items():
            if len(units) > 1 and (owner in self._given or f"{owner}.v" in self._given):
                advice = f"write {{{owner!r}: {{{', '.join(f'{unit!r}: ...' for unit in units)}}}}}, or name its coordinates"
                yield Finding("bad-tolerance", f"atol[{owner!r}]", "one number", "one for each unit", advice)
        if missing := [str(each[0]) for each in keys if not any(key in self._given for key in each)]:
            yield _missing(missing)

    def _of(self, *keys: _Key) -> float:
        return next(self._given[key] for key in keys if key in self._given)

    def of_state(self, count: int) -> Array:
        """Return those of the entries of a state, `count` in all: q, v, x, and states of controllers.

        Raises `ModelError` if the latter have none.
        """
        if count == len(self._known):
            return self._known
        if _REST not in self._given:
            raise ModelError(_missing(["the controller's states"]))
        return np.append(self._known, np.full(count - len(self._known), self._given[_REST]))


def _numbers(atol: Mapping[Any, Any]) -> Iterator[tuple[_Key, float]]:
    for name, value in atol.items():
        if isinstance(value, Mapping):
            for unit, number in value.items():
                yield (name, unit), read_positive(f"atol[{name!r}][{unit!r}]", number)
        else:
            yield name, read_positive(f"atol[{name!r}]", value)


def _keys(name: str, unit: str) -> tuple[_Key, ...]:
    """Return what may stand for a state in `atol`; what comes first goes before the rest."""
    owner = owner_of(name)
    return name, (owner, unit), owner, unit, _REST


def _keys_of_rate(name: str, unit: str) -> tuple[_Key, ...]:
    owner, rate = owner_of(name), rate_unit(unit)
    return f"{name}.v", name, (owner, rate), (owner, unit), f"{owner}.v", owner, rate, unit, _REST


def _of_configuration(model: Model, positions: Array) -> Array:
    """Return tolerances of q from those of coordinates: all numbers of a quaternion have the smallest of its angles."""
    parts, assembly = [np.zeros(0)], model.mechanism.assembly
    for block in assembly.blocks_with_coordinates:
        part = positions[assembly.v_slices[block.name]]
        if block.nq != block.nv:
            part = np.append(part[:-3], np.full(4, part[-3:].min()))
        parts.append(part)
    return np.concatenate(parts)


def _missing(names: list[str]) -> Finding:
    advice = f'name them, their units, or "{_REST}", which stands for the rest'
    return Finding("bad-tolerance", "atol", f"none for {shorten(tuple(names))}", "a tolerance of each state", advice)
