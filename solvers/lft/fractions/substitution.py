"""Deltas that follow from others: polynomials of these in their place, which are linear fractions themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.lft.fractions.interpolation import Polynomial
from titop.solvers.lft.fractions.loops import Loop
from titop.solvers.lft.fractions.structured_reduction import Fractional, reduced


def fraction_of(polynomial: Polynomial, deltas: Sequence[str]) -> Fractional:
    """Return a polynomial (1, 1), or the quotient of a row (1, 2), as a linear fraction, in the order of these deltas.

    With few repetitions: by Horner's scheme, outermost in the delta of the highest degree. A last block, of 1/s, has no states.
    """
    loop = Loop()
    given = loop.columns("u", polynomial.matrices[0].shape[1])
    value = _highest_first(polynomial).applied(loop, given)
    solved = loop.solved(value[:0], value)
    names = np.array(solved.deltas, dtype=object)
    order = [k for delta in deltas for k in np.flatnonzero(names == delta).tolist()]
    n, M = len(names), solved.M
    sizes = (*(int((names == delta).sum()) for delta in deltas), 0)
    A, B, C, D = M[np.ix_(order, order)], M[order, n:], M[n:, order], M[n:, n:]
    again = B[:, 1:]  # what the value itself drives, of a row
    return reduced(Fractional(A + again @ C[: again.shape[1]], B[:, :1], C, D[:, :1], sizes))


def substituted(model: Fractional, fractions: Sequence[Fractional | None]) -> Fractional:
    """Return a model with some of its deltas replaced, each repetition by a fraction in the deltas that stay.

    Parameters
    ----------
    model : Fractional
    fractions : sequence of Fractional or None
        One for each delta of the model but the last, 1/s; None keeps it. Those of the fractions are the deltas that stay, in
        their order; they are zero where these are.

    Returns
    -------
    Fractional
        Of the deltas that stay and 1/s, what came from the fractions behind what was there.
    """
    from scipy.linalg import block_diag

    parts, last = model.parts, len(model.sizes) - 1
    kept = [k for k in range(last + 1) if k == last or fractions[k] is None]
    places = [[np.arange(parts[k].start, parts[k].stop)] for k in kept]
    n = len(model.A)
    # columns: w of the model, then of the fractions; what is replaced is C w of its fraction, whose z is A w + B z
    spread: list[Array] = [np.eye(n)]
    own: list[Array] = [np.zeros((0, 0))]
    into: list[Array] = [np.zeros((0, n))]
    for k, fraction in enumerate(fractions):
        if fraction is None:
            continue
        eye, before = np.eye(model.sizes[k]), n + sum(len(A) for A in own)
        A, B, C = (np.kron(matrix, eye) for matrix in fraction[:3])
        chosen = np.eye(n)[parts[k]]
        spread[0] = spread[0] - chosen.T @ chosen
        spread.append(chosen.T @ C)
        own.append(A)
        into.append(B @ chosen)
        for place, part in zip(places, fraction.parts[:-1], strict=False):
            place.append(before + np.arange(part.start * len(eye), part.stop * len(eye)))
    w, driving = np.hstack(spread), np.vstack(into)
    z = np.vstack([model.A @ w, driving @ model.A @ w])
    z[n:, n:] += block_diag(*own)
    groups = [np.concatenate(place) for place in places]
    order = np.concatenate(groups)
    B = np.vstack([model.B, driving @ model.B])
    sizes = tuple(len(group) for group in groups)
    return Fractional(z[np.ix_(order, order)], B[order], (model.C @ w)[:, order], model.D, sizes)


def _highest_first(polynomial: Polynomial) -> Polynomial:
    """Return a polynomial with its deltas in the order of falling degree."""
    powers = np.array(polynomial.exponents).reshape(len(polynomial.exponents), -1)
    order = np.argsort(-powers.max(axis=0, initial=0), kind="stable")
    deltas = tuple(polynomial.deltas[k] for k in order)
    exponents = tuple(tuple(row) for row in powers[:, order].tolist())
    return Polynomial(deltas, exponents, polynomial.matrices)
