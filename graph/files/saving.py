"""Writing model files, whole or not at all."""

from __future__ import annotations

import os

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.local_files import replaced_file
from titop.blocks.basics.user_input import check_suffix
from titop.graph.files.to_tables import tables_of
from titop.graph.files.toml_text import check_size, format_table
from titop.graph.network.network import Network

_HEADER = "# A model for titop. Units: m, kg, s, rad, N.\n"


def save(system: Network, path: str | os.PathLike[str]) -> None:
    """Write a system to a file, whole or not at all; `load` gives the same system, to the last bit.

    Parameters
    ----------
    system : Network
    path : str or Path
        Of the file, ending in ``.toml``.

    Raises
    ------
    ModelError
        If the system does not pass its checks, is too large for `load`, has blocks of classes that are not registered, or the
        path another suffix.
    """
    check_suffix(path, ("toml",))
    text = to_text(system)
    check_size(text)
    with replaced_file(path) as file:
        file.write(text.encode())


def to_text(system: Network) -> str:
    """Return what `save` writes."""
    text = "\n".join([_HEADER, *(format_table(header, entries) for header, entries in tables_of(system))])
    try:
        text.encode()
    except UnicodeEncodeError as error:
        shown = repr(error.object[max(error.start - 10, 0) : error.end])
        raise ModelError(Finding("not-text", system.name, shown, "names that are text", "rename the block or port")) from None
    return text
