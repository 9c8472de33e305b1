"""Errors and warnings about the functions of a user's interaction."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

import numpy as np

from titop.blocks.basics.differences import derivative
from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array, cross
from titop.blocks.basics.tolerances import DIFFERENCE_ERROR, DIFFERENCE_STEP, SAME
from titop.blocks.basics.user_input import real_array
from titop.blocks.checking.block_findings import naming_findings, own_law_findings, state_name_findings
from titop.blocks.checking.complex_safety import law_takes_complex
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction, displaced, power_of, random_motion, relative_twists


def interaction_findings(
    interaction: Interaction, ports: int, coordinates: int, inertial: bool, seed: int = 0
) -> Iterator[tuple[bool, Finding]]:
    """Yield what is wrong (True) and suspicious (False) with an interaction's functions, at a random motion.

    Functions that fail there give no finding: they may be defined elsewhere.

    `ports`, `coordinates`: number of its targets; `inertial`: whether the world is among the ports; `seed`: of the motion.
    """
    name, p, n = interaction.name, ports, coordinates
    taken = {owner_of(entry) for entry in interaction.parameters()}
    wrong = [*naming_findings(interaction, "inputs", "parameter's or other input's", taken, nameless=True)]
    wrong += [*(state_name_findings(interaction) if interaction.state_names else ())]
    wrong += own_law_findings(interaction) if interaction.compiled_law is not None else ()
    yield from ((True, finding) for finding in wrong)
    motion = random_motion(interaction, np.random.default_rng(seed), p, n)
    if wrong or (yield from _unusable(interaction, motion)) or not (loads := _loads(interaction, motion)):
        return
    for what, part, shape in zip(("wrenches", "efforts"), loads, ((p, 6), (n,)), strict=True):
        if np.shape(part) != shape:
            where, advice = f"{name}.act", "see help(tt.Interaction)"
            yield True, Finding("wrong-shape", where, f"{what} of shape {np.shape(part)}", f"shape {shape}", advice)
            return
    wrenches, _ = loads
    sum_of = resultant(motion, wrenches)
    if not (inertial or interaction.external) and np.abs(sum_of).max() > SAME * np.abs(wrenches).max(initial=0.0):
        expected = "wrenches that add up to nothing about any point"
        advice = "let action be reaction, put the world among the ports, or set external = True"
        yield False, Finding("unbalanced-wrenches", name, f"a resultant of {sum_of.round(9).tolist()}", expected, advice)
    yield from ((False, finding) for finding in _nonlinear_inputs(interaction, motion))
    interaction.complex_safe = interaction.compiled_law is None or law_takes_complex(interaction, motion)
    if not interaction.complex_safe:
        where, expected = f"{name}.compiled_law", "a law that accepts complex motions"
        advice = "derivatives call it in Python, and use differences instead of complex steps (errors near 1e-10)"
        yield False, Finding("not-complex-safe", where, type(interaction).__name__, expected, advice)


def undefined_findings(interaction: Interaction, seeds: Iterable[int]) -> Iterator[Finding]:
    """Yield a finding for loads, and for rates of states, that are finite at none of some random motions."""
    functions: dict[str, Callable[[TargetMotion], Any]] = {
        "act": lambda motion: np.concatenate([*map(np.ravel, interaction.act(motion))])
    }
    if interaction.state_names:
        functions["state_rates"] = interaction.state_rates
    motions = [random_motion(interaction, np.random.default_rng(seed)) for seed in seeds]
    for name, function in functions.items():
        values = [np.asarray(function(motion)) for motion in motions]
        if not any(np.isfinite(value).all() for value in values):
            advice = "check the parameters and the function"
            yield Finding("not-finite", f"{interaction.name}.{name}", values[0].tolist(), "finite numbers, anywhere", advice)


def energy_findings(interaction: Interaction, seed: int = 0) -> Iterator[Finding]:
    """Yield a finding if loads at rest disagree with the stored energy, or rate-dependent loads add energy, at a random motion.

    First-order states and inputs are zero, since these may add energy.
    """
    motion = random_motion(interaction, np.random.default_rng(seed))
    motion = motion._replace(x=0.0 * motion.x)
    resting = motion._replace(V=0.0 * motion.V, v=0.0 * motion.v)
    power, at_rest = (float(power_of(interaction.act(acting), motion)) for acting in (motion, resting))
    lost = derivative(lambda t: np.array([-interaction.stored(moved(motion, t))]), DIFFERENCE_STEP)[0]
    size = abs(power) + abs(at_rest) + abs(lost)
    if not abs(at_rest - lost) <= DIFFERENCE_ERROR * size:
        found, expected = f"a power of {at_rest:.6g} W at rest", f"the {lost:.6g} W that the stored energy loses"
        advice = "correct the energy, or what acts without rates: m.dissipated_power counts what rates change"
        yield Finding("inconsistent-energy", f"{interaction.name}.stored", found, expected, advice)
    if power - at_rest > SAME * size:
        found, expected = f"{power - at_rest:.3g} W by rates", "what opposes the motion"
        yield Finding("negative-damping", interaction.name, found, expected, "check the sign: the interaction feeds energy")


def twin_findings(interaction: Interaction, seed: int = 0) -> Iterator[Finding]:
    """Yield a finding if a compiled law and ``act`` disagree at a random motion."""
    motion = random_motion(interaction, np.random.default_rng(seed))
    motion = motion._replace(u=motion.u + 1.0)
    twins = () if interaction.compiled_law is None else (Interaction.act(interaction, motion), interaction.act(motion))
    parts = [np.concatenate([np.ravel(part) for part in twin]) for twin in twins]
    if parts and not (error := np.abs(parts[0] - parts[1]).max()) <= SAME * np.abs(parts[1]).max():
        found, expected = f"a difference of {error:.3g}", "what act says"
        yield Finding("inconsistent-law", f"{interaction.name}.compiled_law", found, expected, "correct the law")


def resultant(motion: TargetMotion, wrenches: Array) -> Array:
    """Return the sum (6) of the ports' wrenches about the origin of the first, in its frame."""
    total = np.zeros(6)
    for R, r, wrench in zip(motion.R, motion.r, wrenches, strict=True):
        force = R @ wrench[:3]
        total += np.concatenate([force, R @ wrench[3:] + cross(r, force)])
    return total


def moved(motion: TargetMotion, t: float) -> TargetMotion:
    """Return the targets after a short time of a motion, to first order."""
    return displaced(motion, t * relative_twists(motion))._replace(q=motion.q + t * motion.v)


def _unusable(interaction: Interaction, motion: TargetMotion) -> Generator[tuple[bool, Finding], None, bool]:
    """Yield errors at any motion: missing functions, or wrong types and shapes; return whether there are any."""
    name, found = interaction.name, list[Finding]()
    try:
        interaction.act(motion)
        gaps = real_array(interaction.gaps(motion))
        if gaps is None or gaps.ndim != 1:
            advice = "return an array, of a number for each place where the interaction switches"
            found.append(Finding("bad-gaps", f"{name}.gaps", interaction.gaps(motion), "a vector of real numbers", advice))
        if interaction.state_names:
            found += _rate_findings(interaction, motion)
        energy = interaction.stored(motion)
        if energy is None or np.shape(energy):
            where, advice = f"{name}.stored", "return a number, from energy or stored"
            found.append(Finding("wrong-shape", where, energy, "an energy (J)", advice))
    except ModelError as error:
        found += error.findings
    except NotImplementedError:
        advice = "define wrenches(R, r, V1, V2) between two ports, act(motion) on any ports and coordinates"
        found.append(Finding("no-law", name, type(interaction).__name__, "a class that says what acts", advice))
    except Exception:  # it may be defined at other motions
        pass
    yield from ((True, finding) for finding in found)
    return bool(found)


def _rate_findings(interaction: Interaction, motion: TargetMotion) -> Iterator[Finding]:
    count = len(interaction.state_names)
    try:
        rates = real_array(interaction.state_rates(motion))
    except NotImplementedError:
        where, advice = f"{interaction.name}.state_rates", "define state_rates(motion), or tt.Law(law, rates=rates)"
        yield Finding("no-rates", where, type(interaction).__name__, "a class that says how its states change", advice)
        return
    if rates is None or rates.shape != (count,):
        where, advice = f"{interaction.name}.state_rates", "return an array, of a number for each name in state_names"
        yield Finding("wrong-shape", where, rates if rates is None else rates.shape, f"shape ({count},)", advice)


def _loads(interaction: Interaction, motion: TargetMotion) -> tuple[Array, Array] | None:
    """Return wrenches and efforts; None where the functions fail."""
    try:
        wrenches, efforts = (np.asarray(part, dtype=float) for part in interaction.act(motion))
    except Exception:
        return None
    return (wrenches, efforts) if np.isfinite(wrenches).all() and np.isfinite(efforts).all() else None


def _nonlinear_inputs(interaction: Interaction, motion: TargetMotion) -> Iterator[Finding]:
    """Find inputs whose loads are not linear in them, with factors that depend on poses and coordinates alone."""

    def effect(size: float, at: TargetMotion) -> Any:
        ahead, rest = _loads(interaction, at._replace(u=at.u + size)), _loads(interaction, at)
        return (
            None
            if ahead is None or rest is None
            else np.concatenate([(a - b).ravel() for a, b in zip(ahead, rest, strict=True)])
        )

    resting = motion._replace(V=0.0 * motion.V, v=0.0 * motion.v)
    parts = [effect(1.0, motion), effect(2.0, motion), effect(1.0, resting)] if interaction.inputs else []
    if not parts or any(part is None for part in parts):
        return
    once, twice, at_rest = parts
    worst = max(np.abs(twice - 2 * once).max(initial=0.0), np.abs(once - at_rest).max(initial=0.0))
    if not worst <= SAME * max(np.abs(once).max(initial=0.0), math.ulp(0.0)) + SAME * np.abs(twice).max(initial=0.0):
        expected = "inputs that act linearly, by factors that do not depend on rates"
        advice = "linear models and actuation_matrix rely on it: let a controller, or a coordinate, do the rest"
        yield Finding("nonlinear-inputs", f"{interaction.name}.inputs", f"a difference of {worst:.3g}", expected, advice)
