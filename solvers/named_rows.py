"""Arrays by name that are the rows of one matrix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from titop.blocks.basics.spatial import Array


class NamedRows(Mapping[str, Array]):
    """Arrays by name, to be read as a dict is; nothing is taken apart before it is asked for.

    Of stacked matrices the arrays are stacked too.

    Parameters
    ----------
    places : dict of str to int
        The rows' numbers by name.
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
