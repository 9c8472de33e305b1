"""Messages about wrong input: findings, errors and warnings; foreign text in them, and names that are similar to another."""

from __future__ import annotations

import difflib
import pickle
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Largest number of characters of a value in a message, and of a sentence that may list names.
VALUE_LENGTH = 200
SENTENCE_LENGTH = 1000

#: Limits of the comparison with known names: characters of each, characters of all, and the number compared closely. It takes
#: about 10 ms at most, for any number of names.
_COMPARED_LENGTH = 100
_COMPARED_CHARACTERS = 40_000
_CANDIDATES = 20


def shown(value: Any, length: int = VALUE_LENGTH) -> str:
    """Return a value as a message shows it: printable characters on one line, cut after `length` of them.

    Examples
    --------
    >>> print(shown("red \\x1b[31m\\n alert"))
    red \\x1b[31m alert
    """
    with np.printoptions(legacy=False):  # which some libraries change
        text = str(value)
    line = " ".join(text[: 2 * length].split())
    return escape(line, length) if len(text) <= 2 * length else f"{escape(line[:length])} ..."


def numbers_text(numbers: Any) -> str:
    """Return the rounded numbers of an array as a message shows them, whatever NumPy's print options are.

    Examples
    --------
    >>> print(numbers_text([[0.123456, 0.0], [-1e-9, 2.0]]))
    [[0.1235, 0], [-1e-09, 2]]
    """
    return f"{numbers:.4g}" if np.ndim(numbers) == 0 else f"[{', '.join(map(numbers_text, numbers))}]"


def escape(line: str, length: int = SENTENCE_LENGTH) -> str:
    """Return a line with escapes for unprintable characters, cut after `length` characters; blanks stay."""
    cut = line[:length] + (" ..." if len(line) > length else "")
    return cut if cut.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut)


def closest_names(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three of the known names that are similar to a name, the most similar first."""
    wanted, left = name[:_COMPARED_LENGTH], _COMPARED_CHARACTERS
    wanted_pairs = _pairs(wanted)
    names: dict[str, str] = {}
    likeness: dict[str, float] = {}
    for other in known:
        part = other[:_COMPARED_LENGTH]
        left -= len(part) + 1
        if left < 0:
            break
        if part not in names:
            pairs = _pairs(part)
            names[part], likeness[part] = other, len(wanted_pairs & pairs) / (len(wanted_pairs) + len(pairs))
    candidates = sorted(names, key=likeness.__getitem__, reverse=True)[:_CANDIDATES]
    return [names[part] for part in difflib.get_close_matches(wanted, candidates, n=3)]


def _pairs(name: str) -> set[str]:
    """Return the pairs of neighbouring characters of a name, with marks at its start and end."""
    return {f"^{name}$"[k : k + 2] for k in range(len(name) + 1)}


#: The largest number of findings in a report; the search in a file or a system stops there too.
MAX_FINDINGS = 50

#: If no known name is similar: how many are listed, and how many characters of each.
_LISTED_NAMES = 10
_LISTED_LENGTH = 80


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong (or suspicious) in a model or an argument.

    Attributes
    ----------
    code : str
        Stable identifier of the rule, such as ``"negative-mass"``.
    where : str
        Dotted path of the block and field, such as ``"slider.mass"``.
    value : object
        The value at this place.
    expected : str
        What the rule requires.
    advice : str
        How to correct it.
    """

    code: str
    where: str
    value: Any
    expected: str
    advice: str

    def __str__(self) -> str:
        expected, advice = (shown(sentence, SENTENCE_LENGTH) for sentence in (self.expected, self.advice))
        return f"{shown(self.where)}: got {shown(self.value)}; expected {expected}; {advice} [{self.code}]"

    def __reduce__(self) -> tuple[Any, ...]:
        """Make it picklable: a value that cannot be pickled is replaced by its text in the message."""
        try:
            pickle.loads(pickle.dumps(self.value))
            value = self.value
        except Exception:
            value = shown(self.value)
        return Finding, (self.code, self.where, value, self.expected, self.advice)


class ModelError(ValueError):
    """A model or an argument that titop cannot use.

    Parameters
    ----------
    findings : Finding or iterable of Finding
        Everything that is wrong; the message lists all of it.

    Attributes
    ----------
    findings : tuple of Finding
    code, where : str
        Of the first finding.
    """

    def __init__(self, findings: Finding | Iterable[Finding]) -> None:
        self.findings = (findings,) if isinstance(findings, Finding) else tuple(findings)
        self.code = self.findings[0].code
        self.where = self.findings[0].where
        super().__init__(list_findings(self.findings))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it by its findings and notes."""
        return type(self), (self.findings,), {"__notes__": notes} if (notes := getattr(self, "__notes__", None)) else None


def refuse(findings: Iterable[Finding]) -> None:
    """Raise a `ModelError` of all findings, if there are any."""
    if found := tuple(findings):
        raise ModelError(found)


class ModelWarning(UserWarning):
    """Something usable but suspicious in a model."""


class ConvergenceError(RuntimeError):
    """An iteration that did not reach its tolerance.

    Parameters
    ----------
    message : str
    found : object, optional
        The result up to the failure: the operating points of `trim_along`, the path of `equilibrium_path`, the unstable
        point of `trim` if stable ones are preferred; of `lpv` the reason why each point has none, by its number. Else None.
    """

    def __init__(self, message: str, found: Any = None) -> None:
        super().__init__(message)
        self.found = found


def list_findings(findings: tuple[Finding, ...]) -> str:
    """Return the findings as text, numbered when there are several."""
    if len(findings) == 1:
        return str(findings[0])
    lines = [f"  {number}. {finding}" for number, finding in enumerate(findings[:MAX_FINDINGS], start=1)]
    if len(findings) > MAX_FINDINGS:
        lines.append(f"  ... and {len(findings) - MAX_FINDINGS} more")
    return f"{len(findings)} findings:\n" + "\n".join(lines)


def warn(findings: Iterable[Finding | str]) -> None:
    """Issue a `ModelWarning` for each finding, at the line of the user's that led to it."""
    for finding in findings:
        level, frame = 1, sys._getframe()
        while frame.f_back and f"{frame.f_globals.get('__name__')}.".startswith("titop."):
            level, frame = level + 1, frame.f_back
        warnings.warn(str(finding), ModelWarning, stacklevel=level)


def did_you_mean(name: Any, known: Iterable[Any]) -> str:
    """Return advice that lists the known names closest to a name."""
    names = list(dict.fromkeys(str(other) for other in known))
    close = closest_names(str(name), names)
    if close:
        return "did you mean " + " or ".join(repr(shown(match)) for match in close) + "?"
    listed = [shown(other, _LISTED_LENGTH) for other in names[:_LISTED_NAMES]]
    return "known names: " + (", ".join(listed) or "none") + (", ..." if len(names) > _LISTED_NAMES else "")


def missing_extra(package: str, extra: str, where: str, expected: str) -> ModelError:
    """Return the error about an optional package that is not installed, and the extra of titop that brings it."""
    advice = f'pip install "titop[{extra}]", or pip install {package}'
    return ModelError(Finding("missing-extra", where, f"no {package}", expected, advice))
