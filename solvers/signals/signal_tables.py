"""Names of the signals that a controller exchanges with a model, in all spellings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.solvers.signals.exported import exported_name
from titop.solvers.signals.grammar import COMMANDED, MEASURED, read_name
from titop.solvers.signals.named_model import NamedModel


class SignalTable:
    """Signals by name, in titop's spelling (``hub.P.w[0]``) and in python-control's (``hub_P_w[0]``).

    Parameters
    ----------
    kind : str
        What the signals are, for messages.
    names : iterable of str
        In titop's spelling.
    aliases : mapping of str to str, optional
        Other names for some of them.
    """

    def __init__(self, kind: str, names: Iterable[str], aliases: Mapping[str, str] | None = None) -> None:
        self.kind = kind
        self.names = tuple(names)
        self._spellings: dict[str, list[str]] = {}
        for alias, name in ({name: name for name in self.names} | dict(aliases or {})).items():
            for spelling in {alias, exported_name(alias)}:
                self._spellings.setdefault(spelling, []).append(name)

    def __contains__(self, name: object) -> bool:
        return name in self._spellings

    def find(self, where: str, name: str) -> str:
        """Return a signal's name in titop's spelling.

        Parameters
        ----------
        where : str
            Argument in which the name stands.
        name : str
            In either spelling.
        """
        names = self._spellings.get(name, [])
        if len(names) == 1:
            return names[0]
        if names:
            advice = f"it stands for {' and '.join(names)}: rename a block"
            raise ModelError(Finding("ambiguous-signal", where, name, "the name of one signal", advice))
        advice = did_you_mean(name, [*self._spellings])
        raise ModelError(Finding("unknown-signal", where, name, self.kind, advice))


def measured_signals(model: NamedModel) -> SignalTable:
    """Return the signals that a controller can measure: sensors, positions, motion of ports, coordinates, lines, contacts."""
    return SignalTable(MEASURED.expected, _once(of.paths for of in MEASURED.quantities(model)))


def commanded_signals(model: NamedModel) -> SignalTable:
    """Return the signals that a controller can command: inputs (a tendon's is ``flexor``), then efforts (``hinge.tau``)."""
    named = {name: read_name(model, COMMANDED, name).paths for name in COMMANDED.names(model)}
    single = {name: paths[0] for name, paths in named.items() if len(paths) == 1}
    return SignalTable(COMMANDED.expected, _once(named.values()), single)


def _once(groups: Iterable[Sequence[str]]) -> Iterator[str]:
    yield from dict.fromkeys(path for paths in groups for path in paths)


def check_names(where: str, names: Sequence[str]) -> None:
    """Refuse names that occur twice."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ModelError(Finding("duplicate-name", where, ", ".join(twice), "every signal once", "rename or remove one"))
