"""Symmetric positive definite systems that are dense, by Cholesky's method."""

from __future__ import annotations

import math

from titop.solvers.native.kernel import helper


@helper
def solve_symmetric(system, n):
    """Replace the last column of ``[G  b]`` (n x n + 1) by ``G^-1 b`` by Cholesky's method; return whether G is definite."""
    for j in range(n):
        for i in range(j, n):
            total = system[i, j]
            for k in range(j):
                total -= system[i, k] * system[j, k]
            if i > j:
                system[i, j] = total / system[j, j]
            elif total > 0.0:
                system[j, j] = math.sqrt(total)
            else:
                return False
        total = system[j, n]
        for k in range(j):
            total -= system[j, k] * system[k, n]
        system[j, n] = total / system[j, j]
    for j in range(n - 1, -1, -1):
        total = system[j, n]
        for k in range(j + 1, n):
            total -= system[k, j] * system[k, n]
        system[j, n] = total / system[j, j]
    return True


@helper
def solve_triangles(factored, n, x):
    """Replace the columns of x (n x m) by ``G^-1 x``, with the triangle that `solve_symmetric` has left of G."""
    for j in range(n):
        for k in range(j):
            for c in range(x.shape[1]):
                x[j, c] -= factored[j, k] * x[k, c]
        for c in range(x.shape[1]):
            x[j, c] /= factored[j, j]
    for j in range(n - 1, -1, -1):
        for k in range(j + 1, n):
            for c in range(x.shape[1]):
                x[j, c] -= factored[k, j] * x[k, c]
        for c in range(x.shape[1]):
            x[j, c] /= factored[j, j]
