"""The law of a block at a state, as numbers: what the resolvers ask of a block that is no rigid body."""

from __future__ import annotations

from typing import NamedTuple

from titop.blocks.spatial import Array


class PortTerms(NamedTuple):
    """A child port at a state.

    Attributes
    ----------
    rotation : (3, 3) array
        Of the port in the parent port's frame.
    position : (3,) array, m
    subspace : (6, n) array
        The motion subspace S, in the port's frame.
    bias : (6,) array
        ``gamma = dS/dt v + ad(V_C) S v``: the port's acceleration is ``Ad(g)^-1 A_P + S a + gamma``.
    """

    rotation: Array
    position: Array
    subspace: Array
    bias: Array


class LawTerms(NamedTuple):
    """``[W_P; tau + passive] = M [A_P; a] + h + sum_k [Ad(g_k)^-T; S_k^T] W_k`` at a state.

    Attributes
    ----------
    inertia : (6 + n, 6 + n) array
        M, as seen from the parent port.
    gyroscopic : (6 + n,) array
        h.
    passive : (n,) array
        Efforts of elasticity and damping.
    ports : tuple of PortTerms
        In the order of the block's `ports`.
    """

    inertia: Array
    gyroscopic: Array
    passive: Array
    ports: tuple[PortTerms, ...]
