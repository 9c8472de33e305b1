"""States that integrators try, which may lie far beyond those that they accept."""

from __future__ import annotations

from titop.blocks.basics.errors import ModelError


def went_too_far(error: ModelError) -> bool:
    """Tell whether an error may come from a trial state alone, so that a shorter step may go better.

    Numbers overflow there, or a body is strained so far that nothing is left of its inertia.
    """
    return error.code == "massless-joint" or (error.code, error.where) == ("not-finite", "result")


def told(error: ModelError) -> str:
    """Return what went wrong in a trial state: the step, not the model, has taken inertia away."""
    if error.code == "massless-joint":
        return f"a trial step strains {error.where} until no inertia is left; perhaps a stiff system, or loose tolerances"
    return str(error)
