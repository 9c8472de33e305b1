"""Checking a block of one's own: do its faster forms agree with what follows from its pose, inertia and energy?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from titop.blocks.block import Block, is_complex_safe, law_findings
from titop.blocks.errors import Finding, ModelError
from titop.blocks.spatial import Array

#: Relative to the largest entry: six-point differences are good to about 1e-10, a wrong term shows as 1e-3 or more.
_TOLERANCE = 1e-6


def check_block(block: Block, seed: int = 0) -> None:
    """Check that what a block overrides agrees with what follows from its other functions.

    Compared at random configurations and motions, by differences: the motion subspace and its rate with the poses, the
    gyroscopic terms with the mass matrix, the passive efforts with elastic energy and damping, the linearised law with the law.

    Parameters
    ----------
    block : Block
    seed : int
        Of the random configurations.

    Raises
    ------
    ModelError
        Naming each function that disagrees, and by how much.

    Examples
    --------
    >>> import titop as tt
    >>> tt.check_block(tt.Universal("elbow"))  # says nothing: all is well
    """
    findings = list(law_findings(block))
    if not findings:
        block.complex_safe = is_complex_safe(block)
        rng = np.random.default_rng(seed)
        for _ in range(3):
            findings += _disagreements(block, rng)
    if findings:
        raise ModelError(list({finding.where: finding for finding in findings}.values()))


def _disagreements(block: Block, rng: np.random.Generator) -> Iterator[Finding]:
    plain = _Plain(block)
    q, v = block.random_configuration(rng), rng.normal(size=block.nv)
    twist, x = rng.normal(size=6), rng.normal(size=6 + block.nv)
    comparisons: list[tuple[str, Callable[[Block], Any], str]] = [
        ("gyroscopic", lambda b: b.gyroscopic(q, v, twist), "what follows from the mass matrix"),
        ("passive_efforts", lambda b: b.passive_efforts(q, v), "minus the slope of the energy, and the damping"),
        ("elastic_slopes", lambda b: b.elastic_slopes(q), "differences of the passive efforts"),
        ("law_slopes", lambda b: _flat(b.law_slopes(q, v, twist, x)), "differences of the law"),
    ]
    for port in block.ports:
        comparisons += _port_comparisons(port, q, v)
    for name, function, expected in comparisons:
        given, derived = np.asarray(function(block), dtype=float), np.asarray(function(plain), dtype=float)
        error = np.abs(given - derived).max(initial=0.0) / max(np.abs(derived).max(initial=0.0), 1.0)
        if not error < _TOLERANCE:
            advice = "correct it, or leave it out: titop derives it"
            yield Finding(
                "inconsistent-block", f"{block.name}.{name}", f"a relative difference of {error:.2g}", expected, advice
            )


def _port_comparisons(port: str, q: Array, v: Array) -> list[tuple[str, Callable[[Block], Any], str]]:
    return [
        (f"motion_subspace({port!r})", lambda b: b.motion_subspace(port, q), "the derivative of the pose"),
        (f"subspace_rate({port!r})", lambda b: b.subspace_rate(port, q, v), "the rate of the motion subspace"),
        (f"subspace_slopes({port!r})", lambda b: _flat(b.subspace_slopes(port, q, v)), "differences of the subspace"),
    ]


def _flat(arrays: tuple[Array, ...]) -> Array:
    return np.concatenate([array.ravel() for array in arrays])


class _Plain(Block):
    """A block's pose, inertia, energy and damping, with nothing overridden, differentiated by differences."""

    complex_safe = False

    def __init__(self, block: Block) -> None:
        super().__init__(block.name)
        self.coordinates, self.ports = block.coordinates, block.ports
        self._block = block
        for name in ("pose", "mass_matrix", "elastic_energy", "damping_efforts", "integrate", "difference", "bracket"):
            setattr(self, name, getattr(block, name))
