"""What of an equilibrium moves with the parameters: further deltas, which follow by polynomials and quotients of them, or stay
independent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import parts_of, split_end
from titop.blocks.joints.joint import is_elementary
from titop.solvers.lft.fits import (
    fit_polynomial,
    fit_quotient,
    fraction_at,
    fraction_of,
    number_of_terms,
    smallest_fraction,
    substitute,
)
from titop.solvers.lft.fractions import Fractional
from titop.solvers.lft.operating_points import Equilibria, value_at
from titop.solvers.lft.uncertainty import Uncertain

#: How coordinates that move depend on the parameters.
How = Literal["fitted", "independent"]

#: By which part of its width each end of the range of an independent coordinate lies beyond what was found.
MARGIN = 0.1
#: By which part the range of a fitted one, about its nominal value, is wider than what was found.
_WIDER = 0.02
#: Highest degree of a fit, and most terms of a polynomial in it; points for each term.
_DEGREE, _TERMS, _OVER = 10, 400, 2

_ADVICE = "sample the family with tt.lpv, or hold the equilibrium with efforts"


class MovingCoordinate(NamedTuple):
    """What of an equilibrium moves with the parameters: a coordinate ``hinge.q``, a rate ``wheel.v``, an input ``jet.u``.

    Attributes
    ----------
    name : str
    nominal, lower, upper : float
        Value at the nominal point, and the range: of the values found, or of the delta of an independent one; in `unit`.
    unit : str
    degree : int or None
        Highest power of a normalised parameter in the fit, a polynomial or a quotient; None of an independent one.
    error : float or None
        Largest difference, in `unit`, of the fit from equilibria of which the fit knows nothing.
    """

    name: str
    nominal: float
    lower: float
    upper: float
    unit: str
    degree: int | None = None
    error: float | None = None


def moving_ranges(equilibria: Equilibria, how: How) -> dict[str, tuple[float, float]]:
    """Return the ranges of what moves, by name: around what was found.

    Raises
    ------
    ModelError
        For what is not rational, and ranges that random equilibria leave.
    """
    ranges: dict[str, tuple[float, float]] = {}
    equilibria.spread(_OVER * number_of_terms(len(equilibria.uncertainty.all), 2))
    for k in equilibria.moving:
        path = equilibria.paths[k]
        if _drives_a_joint(equilibria, path):
            continue
        _refuse_strange(equilibria, path)
        nominal = value_at(equilibria.point, path)
        if how == "fitted":
            reach = (1 + _WIDER) * max(np.abs(_range_of_changes(equilibria, k)))
            ranges[path] = nominal - reach, nominal + reach
            continue
        known, tests = equilibria.changes[:, k], equilibria.test_changes[:, k]
        low, high = min(known.min(), 0.0), max(known.max(), 0.0)
        margin = MARGIN * (high - low)
        if tests.min() < low - margin or tests.max() > high + margin:
            shown = f"{nominal + low:.6g} to {nominal + high:.6g} at corners and in between, beyond at random values"
            advice = "narrow the ranges of the parameters, or choose moving='fitted'"
            raise ModelError(Finding("not-covered", f"equilibrium: {path}", shown, "a range that covers it", advice))
        ranges[path] = nominal + low - margin, nominal + high + margin
    return ranges


def with_moving(
    model: Fractional, uncertain: Sequence[Uncertain], equilibria: Equilibria, how: How, tolerance: float
) -> tuple[Fractional, tuple[Uncertain, ...], tuple[MovingCoordinate, ...]]:
    """Return a model in which what moves follows the parameters or stays independent; its deltas; and what is known of it.

    Parameters
    ----------
    model : Fractional
        Its deltas zero at nominal values: those of the parameters, of what moves, and 1/s.
    uncertain : sequence of Uncertain
        Parameters and what moves.
    equilibria : Equilibria
    how : {"fitted", "independent"}
    tolerance : float
        Largest error of a fitted coordinate, in parts of how far it moves.

    Raises
    ------
    ModelError
        Where no polynomial is as near.
    """
    if how == "independent":
        return _leave_independent(model, uncertain, equilibria)
    small, notes = _follow(model, uncertain, equilibria, tolerance)
    return small, equilibria.uncertainty.all, notes


def _follow(
    model: Fractional, uncertain: Sequence[Uncertain], equilibria: Equilibria, tolerance: float
) -> tuple[Fractional, tuple[MovingCoordinate, ...]]:
    """Return a model in which what moves follows the parameters by polynomials, and how well it does."""
    names = [each.name for each in equilibria.uncertainty.all]
    fractions: list[Fractional | None] = [None] * len(names)
    notes = []
    for size, each in zip(model.sizes[len(names) :], uncertain[len(names) :], strict=False):
        if size:
            fraction, note = _fit(equilibria, each, names, tolerance)
            fractions.append(fraction)
            notes.append(note)
        else:
            nothing = np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.zeros((1, 1))
            fractions.append(Fractional(*nothing, (0,) * (len(names) + 1)))
    return substitute(model, [*fractions, None]), tuple(notes)


def _leave_independent(
    model: Fractional, uncertain: Sequence[Uncertain], equilibria: Equilibria
) -> tuple[Fractional, tuple[Uncertain, ...], tuple[MovingCoordinate, ...]]:
    """Return a model without what nothing depends on: coordinates, and parameters that act through the equilibrium alone."""
    count = len(equilibria.uncertainty.all)
    kept = [k for k, size in enumerate(model.sizes[:-1]) if size or (k < count and not equilibria.depends_on(k))]
    sizes = (*(model.sizes[k] for k in kept), model.sizes[-1])
    blocks = [uncertain[k].block for k in kept if k >= count]
    notes = tuple(MovingCoordinate(b.name, b.nominal, b.lower, b.upper, b.unit) for b in blocks)
    return model._replace(sizes=sizes), tuple(uncertain[k] for k in kept), notes


def _range_of_changes(equilibria: Equilibria, k: int) -> tuple[float, float]:
    """Return the lowest and the highest change of all equilibria that were found."""
    changes = np.concatenate([[0.0], equilibria.changes[:, k], equilibria.test_changes[:, k]])
    return float(changes.min()), float(changes.max())


def _drives_a_joint(equilibria: Equilibria, path: str) -> bool:
    """Tell whether a name is that of a motor's input: an effort, which is no part of a linear model."""
    model = equilibria.point.model
    stem, end = split_end(path)
    return end == "u" and bool(model.mechanism.inputs.motors[:, model.input_names.index(stem)].any())


def _refuse_strange(equilibria: Equilibria, path: str) -> None:
    """Refuse what moves if models are not rational in it."""
    model, (stem, end) = equilibria.point.model, split_end(path)
    if end == "u":
        if model.input_names.index(stem) not in model.mechanism.inputs.columns:
            expected = "inputs that rest, of motors, or that are wrenches on ports"
            raise ModelError(Finding("moving-input", "equilibrium", path, expected, _ADVICE))
        return
    block = model.mechanism.assembly.blocks[parts_of(path)[0]]
    is_plain = model.mechanism.has_plain_coordinates(model.coordinate_names.index(stem))
    if not is_plain or (end == "v" and not is_elementary(block)):
        expected = "attitudes of free and spherical joints, and rates of all but plain joints, that rest"
        raise ModelError(Finding("moving-attitude", "equilibrium", path, expected, _ADVICE))


def _fit(
    equilibria: Equilibria, uncertain: Uncertain, names: list[str], tolerance: float
) -> tuple[Fractional, MovingCoordinate]:
    """Return the fraction with the fewest repetitions that is near enough, and its error.

    A polynomial of the lowest degree, or a quotient, is made smaller where a fraction is as near.
    """
    k, block = equilibria.paths.index(uncertain.name), uncertain.block
    right = block.nominal + equilibria.test_changes[:, k]
    reach = max(np.abs(_range_of_changes(equilibria, k)))

    def error_of(fraction: Fractional) -> float:
        deltas = fraction_at(fraction, equilibria.test_points)
        return float(np.abs([block.value(delta) for delta in deltas] - right).max())

    def is_near(fraction: Fractional) -> bool:
        return error_of(fraction) <= tolerance * reach

    best = np.inf
    for degree in range(1, _DEGREE + 1):
        count = number_of_terms(len(names), degree)
        if count > _TERMS:
            break
        equilibria.spread(2 * _OVER * count)  # quotients have twice as many numbers
        values = np.array([block.normalised(block.nominal + change) for change in equilibria.changes[:, k]])
        for fit in (fit_polynomial, fit_quotient):
            row = fit(tuple(names), equilibria.points, values, degree, tolerance)
            if row is None:
                continue
            fraction = fraction_of(row, names)
            if not is_near(fraction):
                best = min(best, error_of(fraction))
                continue
            fraction = smallest_fraction(equilibria.points, values, fraction.sizes[:-1], is_near) or fraction
            low, high = (block.nominal + bound for bound in _range_of_changes(equilibria, k))
            most = max(fraction.sizes)
            return fraction, MovingCoordinate(uncertain.name, block.nominal, low, high, block.unit, most, error_of(fraction))
    got = f"an error of {best:.2g} {block.unit} where it moves by {reach:.2g} {block.unit}"
    advice = "narrow the ranges, raise the tolerance, or choose moving='independent'"
    expected = f"a quotient of polynomials that is exact to {tolerance:g} of that"
    raise ModelError(Finding("no-fit", f"equilibrium: {uncertain.name}", got, expected, advice))
