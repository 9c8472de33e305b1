"""Bases of few deformations: static ones, and the lowest modes, of dense and sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from titop.blocks.bodies.element_matrices import is_sparse
from titop.blocks.bodies.modal_reduction import attachment_modes, craig_bampton, lowest_modes, solver_of

Array = NDArray[np.float64]
SIZE, MODES, BOUNDARY = 80, 4, 2


def chain(size: int = SIZE) -> tuple[Array, Array]:
    """Return mass and stiffness of masses between springs, held at both ends."""
    return np.eye(size), 2.0 * np.eye(size) - np.eye(size, k=1) - np.eye(size, k=-1)


def forms() -> list[Any]:
    mass, stiffness = chain()
    return [(mass, stiffness), (scipy.sparse.csc_array(mass), scipy.sparse.csc_array(stiffness))]


@pytest.mark.parametrize("form", [0, 1], ids=["dense", "sparse"])
def test_modes_of_a_chain_are_sines(form: int) -> None:
    """``w_k = 2 sin(k pi / 2 (n + 1))``, with shapes ``sin(k pi j / (n + 1))``."""
    mass, stiffness = forms()[form]
    found = lowest_modes(mass, stiffness, MODES, solver_of(stiffness))
    k, j = np.arange(1, MODES + 1), np.arange(1, SIZE + 1)[:, None]
    sines = np.sqrt(2 / (SIZE + 1)) * np.sin(k * np.pi * j / (SIZE + 1))
    np.testing.assert_allclose(np.abs(found.T @ sines), np.eye(MODES), rtol=0, atol=1e-10)
    squares = np.diag(found.T @ (stiffness @ found))
    np.testing.assert_allclose(squares, (2 * np.sin(k * np.pi / (2 * (SIZE + 1)))) ** 2, rtol=1e-10)


@pytest.mark.parametrize("form", [0, 1], ids=["dense", "sparse"])
def test_statics_of_the_boundary_are_exact(form: int) -> None:
    mass, stiffness = forms()[form]
    basis = craig_bampton(mass, stiffness, BOUNDARY, MODES)
    full = chain()[1]
    load = np.eye(SIZE)[0]
    reduced = basis @ np.linalg.solve(basis.T @ full @ basis, basis.T @ load)
    np.testing.assert_allclose(reduced, np.linalg.solve(full, load), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(basis[:BOUNDARY], np.eye(BOUNDARY, BOUNDARY + MODES))
    inside = np.eye(SIZE)[-1]  # of a load elsewhere it is not
    reduced = basis @ np.linalg.solve(basis.T @ full @ basis, basis.T @ inside)
    assert np.abs(reduced - np.linalg.solve(full, inside)).max() > 1e-3


def test_attachment_modes_span_the_statics_and_are_orthonormal() -> None:
    mass, stiffness = chain()
    basis = attachment_modes(mass, stiffness, BOUNDARY, MODES)
    np.testing.assert_allclose(basis.T @ mass @ basis, np.eye(BOUNDARY + MODES), rtol=0, atol=1e-11)
    static = np.linalg.solve(stiffness, np.eye(SIZE, BOUNDARY))
    np.testing.assert_allclose(basis @ (basis.T @ mass @ static), static, rtol=0, atol=1e-11)


def test_several_equal_modes_are_all_found() -> None:
    """Two chains beside each other: an iteration from one vector meets each frequency once."""
    double = [scipy.sparse.csc_array(scipy.sparse.block_diag([matrix, matrix])) for matrix in chain()]
    found = lowest_modes(*double, 4, solver_of(double[1]))
    squares = np.diag(found.T @ (double[1] @ found))
    expected = (2 * np.sin(np.repeat([1, 2], 2) * np.pi / (2 * (SIZE + 1)))) ** 2
    np.testing.assert_allclose(squares, expected, rtol=1e-8)
    np.testing.assert_allclose(found.T @ (double[0] @ found), np.eye(4), rtol=0, atol=1e-8)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csc_array], ids=["dense", "sparse"])
def test_what_is_not_positive_definite_is_refused(form: Any) -> None:
    _, stiffness = chain(6)
    for bad in (stiffness - 3.0 * np.eye(6), np.zeros((6, 6)), np.eye(6, k=1) + np.eye(6, k=-1)):
        with pytest.raises(np.linalg.LinAlgError):
            solver_of(form(bad))
    loads = np.arange(6.0)
    np.testing.assert_allclose(stiffness @ solver_of(form(stiffness))(loads), loads, rtol=0, atol=1e-13)


def test_modes_want_masses() -> None:
    _, stiffness = chain(6)
    with pytest.raises(np.linalg.LinAlgError):
        lowest_modes(np.diag([1.0, 1, 0, 0, 0, 0]), stiffness, 3, solver_of(stiffness))
    assert lowest_modes(np.diag([1.0, 1, 0, 0, 0, 0]), stiffness, 2, solver_of(stiffness)).shape == (6, 2)
    assert lowest_modes(np.eye(6), stiffness, 0, solver_of(stiffness)).shape == (6, 0)


def test_sparse_matrices_are_told_from_dense_ones() -> None:
    assert is_sparse(scipy.sparse.coo_array(np.eye(2)))
    assert not is_sparse(np.eye(2))
