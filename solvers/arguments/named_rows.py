"""A mapping from names to the rows of one matrix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from titop.blocks.basics.spatial import Array


class NamedRows(Mapping[str, Array]):
    """A mapping from names to rows of a matrix; rows are taken from the matrix when they are read.

    For stacked matrices the rows are stacked too.

    Parameters
    ----------
    places : dict of str to int
        Row indices by name.
    matrix : (m, n) or (batch, m, n) array

    Attributes
    ----------
    matrix : (m, n) or (batch, m, n) array
        All rows, in the order of the names.
    """

    def __init__(self, places: dict[str, int], matrix: Array) -> None:
        self._places, self.matrix = places, matrix

    def __getitem__(self, name: str) -> Array:
        row: Array = self.matrix[..., self._places[name], :]
        return row

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return repr(dict(self))
