"""Progress bars: on a terminal, of what takes longer than a second."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

#: What takes longer than this (s) shows a bar.
SHOW_AFTER = 1.0


def progress_bar(items: Iterable[Any] | None = None, progress: bool = True, **options: Any) -> Any:
    """Return a bar over items, or one to be moved by hand; it is not seen where there is to be no `progress`.

    `options` are tqdm's.
    """
    from tqdm import tqdm

    return tqdm(items, delay=SHOW_AFTER, disable=None if progress else True, leave=False, **options)
