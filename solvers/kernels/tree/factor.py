"""Factoring symmetric positive definite matrices, and solving with the factors: of dense systems by Cholesky's method, and the
mass matrix ``M = L^T D L`` along the tree.

Entry (i, j) of M is zero unless one of the coordinates i and j lies on the other's path to the world; L has no entries
elsewhere either (Featherstone, Rigid Body Dynamics Algorithms, section 6.5). ``tree[0]`` lists the coordinates, parents first;
``tree[1, k]`` is the coordinate before k on the path to the world, -1 for the first.
"""

from __future__ import annotations

import math

from titop.blocks.basics.choices import everywhere
from titop.blocks.basics.tolerances import CANCELLED
from titop.solvers.native.kernel import helper


@helper
def factor(tree, matrix):
    """Replace M by D and, beside it in the rows, L; return -1, or a coordinate without inertia.

    Each coordinate leaves in its column, in the row of the coordinate before it, that one's entry of M: the last of several
    tells by it how much of that is left. Two that follow each other go at once; one alone with itself, of which it takes
    nothing.
    """
    for k in range(tree.shape[1]):
        i = tree[1, k]
        if i >= 0:
            matrix[i, k] = matrix[i, i]
    p = tree.shape[1] - 1
    while p >= 0:
        k, p = tree[0, p], p - 1
        if not everywhere(matrix[k, k] > 0.0):
            return k
        i, last, inverse, other = tree[1, k], k, 1.0 / matrix[k, k], 0.0
        if i >= 0 and tree[0, p] == i:
            share, j, p = matrix[k, i] * inverse, i, p - 1
            while j >= 0:
                matrix[i, j] -= share * matrix[k, j]
                j = tree[1, j]
            if not everywhere(matrix[i, i] > CANCELLED * matrix[i, k]):
                return i
            matrix[k, i] = share
            i, last, other = tree[1, i], i, 1.0 / matrix[i, i]
        j = i
        while j >= 0:
            first, second = matrix[k, j] * inverse, matrix[last, j] * other
            h = j
            while h >= 0:
                matrix[j, h] -= first * matrix[k, h] + second * matrix[last, h]
                h = tree[1, h]
            matrix[last, j] = second
            matrix[k, j] = first
            j = tree[1, j]
        if i >= 0 and not everywhere(matrix[i, i] > CANCELLED * matrix[i, last]):
            return i
    return -1


#: So many columns at a time stay near the processor while rows are gone through again and again.
_COLUMNS = 112


@helper
def solve_rows(tree, factors, x):
    """Replace the columns of x (nv x m) by ``M^-1 x``."""
    for first in range(0, x.shape[1], _COLUMNS):
        _solve_columns(tree, factors, x, first, min(first + _COLUMNS, x.shape[1]))


@helper
def _solve_columns(tree, factors, x, first, last):
    """Do so with some columns.

    Rows go several at a time: a coordinate with the one before it, where these follow each other; and four that come before
    it, the last ones of fewer with themselves, of which it takes nothing.
    """
    n, p = tree.shape[1], tree.shape[1] - 1
    while p >= 0:
        k = tree[0, p]
        i, p = tree[1, k], p - 1
        if i >= 0 and tree[0, p] == i:
            share, p = factors[k, i], p - 1
            for c in range(first, last):
                x[i, c] -= share * x[k, c]
            j = tree[1, i]
            while j >= 0:
                share, other = factors[k, j], factors[i, j]
                for c in range(first, last):
                    x[j, c] -= share * x[k, c] + other * x[i, c]
                j = tree[1, j]
            continue
        while i >= 0:
            share = factors[k, i]
            for c in range(first, last):
                x[i, c] -= share * x[k, c]
            i = tree[1, i]
    for p in range(n):
        k = tree[0, p]
        inverse = 1.0 / factors[k, k]
        for c in range(first, last):
            x[k, c] *= inverse
        i = tree[1, k]
        while i >= 0:
            j = tree[1, i]
            h = tree[1, j] if j >= 0 else -1
            m = tree[1, h] if h >= 0 else -1
            share, second = factors[k, i], factors[k, j] if j >= 0 else 0.0
            third, fourth = factors[k, h] if h >= 0 else 0.0, factors[k, m] if m >= 0 else 0.0
            beyond = tree[1, m] if m >= 0 else -1
            j, h, m = j if j >= 0 else i, h if h >= 0 else i, m if m >= 0 else i
            for c in range(first, last):
                x[k, c] -= share * x[i, c] + second * x[j, c] + third * x[h, c] + fourth * x[m, c]
            i = beyond


@helper
def invert(tree, factors, spans, inverse):
    """Write ``M^-1`` into `inverse` (nv x nv); `spans` (2 x nv) tells which columns the first sweep fills."""
    n, ordered = tree.shape[1], True
    inverse[:] = 0.0
    for k in range(n):
        inverse[k, k] = 1.0
        spans[0, k], spans[1, k] = k, k + 1
        ordered = ordered and tree[0, k] == k
    for p in range(n - 1, -1, -1):
        k = tree[0, p]
        i = tree[1, k]
        if i >= 0:
            spans[0, i], spans[1, i] = min(spans[0, i], spans[0, k]), max(spans[1, i], spans[1, k])
        while i >= 0:
            share = factors[k, i]
            for c in range(spans[0, k], spans[1, k]):
                inverse[i, c] -= share * inverse[k, c]
            i = tree[1, i]
    for p in range(n):
        k = tree[0, p]
        begin = k if ordered else 0
        pivot = 1.0 / factors[k, k]
        for c in range(spans[0, k], spans[1, k]):
            inverse[k, c] *= pivot
        i = tree[1, k]
        while i >= 0:  # two rows at a time; the last of an odd number with itself, of which it takes nothing
            j, share, other = tree[1, i], factors[k, i], 0.0
            if j >= 0:
                other = factors[k, j]
            else:
                j = i
            for c in range(begin, n):
                inverse[k, c] -= share * inverse[i, c] + other * inverse[j, c]
            i = tree[1, j]
        for c in range(begin):  # known from the rows before, and symmetric
            inverse[k, c] = inverse[c, k]


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
            else:
                if not everywhere(total > 0.0):
                    return False
                system[j, j] = math.sqrt(total)
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
