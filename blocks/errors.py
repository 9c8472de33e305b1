"""What titop says when something is wrong: findings, errors and warnings."""

from __future__ import annotations

import difflib
import pickle
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

#: A value longer than this is cut in a message, and a report stops after so many findings.
_SHOWN_CHARACTERS = 200
_SHOWN_FINDINGS = 50


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
        return f"{self.where}: got {self._shown()}; expected {self.expected}; {self.advice} [{self.code}]"

    def __reduce__(self) -> tuple[Any, ...]:
        """Let it go to other processes whatever was found: what cannot be sent goes as the text that the message shows."""
        try:
            pickle.loads(pickle.dumps(self.value))
            value = self.value
        except Exception:
            value = self._shown()
        return Finding, (self.code, self.where, value, self.expected, self.advice)

    def _shown(self) -> str:
        value = " ".join(str(self.value).split())
        return value if len(value) <= _SHOWN_CHARACTERS else value[:_SHOWN_CHARACTERS] + " ..."


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
    """An iteration that did not reach its tolerance."""


def list_findings(findings: tuple[Finding, ...]) -> str:
    """Return the findings as text, numbered when there are several."""
    if len(findings) == 1:
        return str(findings[0])
    lines = [f"  {number}. {finding}" for number, finding in enumerate(findings[:_SHOWN_FINDINGS], start=1)]
    if len(findings) > _SHOWN_FINDINGS:
        lines.append(f"  ... and {len(findings) - _SHOWN_FINDINGS} more")
    return f"{len(findings)} findings:\n" + "\n".join(lines)


def warn(findings: Iterable[Finding], stacklevel: int = 3) -> None:
    """Issue a `ModelWarning` for each finding."""
    for finding in findings:
        warnings.warn(str(finding), ModelWarning, stacklevel=stacklevel)


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """Return advice that names the closest known names."""
    known = list(dict.fromkeys(str(other) for other in known))
    name = str(name)
    close = difflib.get_close_matches(name, known, n=3)
    if close:
        return "did you mean " + " or ".join(repr(match) for match in close) + "?"
    shown = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
    return f"known names: {shown or 'none'}"
