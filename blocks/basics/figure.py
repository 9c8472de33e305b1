"""Figures that notebooks show, also where matplotlib's `pyplot` was never imported."""

from io import BytesIO

from matplotlib import figure


class Figure(figure.Figure):
    """A figure of matplotlib that is no window of `pyplot`'s."""

    def _repr_png_(self) -> bytes:
        written = BytesIO()
        self.savefig(written, format="png", bbox_inches="tight")
        return written.getvalue()
