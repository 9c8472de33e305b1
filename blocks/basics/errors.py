"""What titop says when something is wrong: findings, errors and warnings."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from titop.blocks.basics.wording import SENTENCE_LENGTH, closest_names, shown

#: A report stops after so many findings, and so does the search for more of them in a file or a system.
MAX_FINDINGS = 50

#: Where no name is near, so many are listed, each so far.
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
        What was found there.
    expected : str
        What the rule asks for.
    advice : str
        What to do about it.
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
        """Let it go to other processes whatever was found: what cannot be sent goes as the text that the message shows."""
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
        """Make it anew from its findings in another process; notes go along."""
        return type(self), (self.findings,), {"__notes__": notes} if (notes := getattr(self, "__notes__", None)) else None


class ModelWarning(UserWarning):
    """Something usable but suspicious in a model."""


class ConvergenceError(RuntimeError):
    """An iteration that did not reach its tolerance.

    Parameters
    ----------
    message : str
    found : object, optional
        What had been found when it ended: the operating points of `trim_along`, the path of `equilibrium_path`, the unstable
        point of `trim` where stable ones are preferred, why each point of `lpv` has none, by its number. None otherwise.
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


def warn(findings: Iterable[Finding], stacklevel: int = 3) -> None:
    """Issue a `ModelWarning` for each finding."""
    for finding in findings:
        warnings.warn(str(finding), ModelWarning, stacklevel=stacklevel)


def did_you_mean(name: Any, known: Iterable[Any]) -> str:
    """Return advice that names the closest known names."""
    names = list(dict.fromkeys(str(other) for other in known))
    close = closest_names(str(name), names)
    if close:
        return "did you mean " + " or ".join(repr(shown(match)) for match in close) + "?"
    listed = [shown(other, _LISTED_LENGTH) for other in names[:_LISTED_NAMES]]
    return "known names: " + (", ".join(listed) or "none") + (", ..." if len(names) > _LISTED_NAMES else "")
