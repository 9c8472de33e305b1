"""Motions as one HTML file that any browser opens, without a network.

The page is titop's own (``animation.html``, some 600 lines of plain JavaScript on WebGL 2) rather than a viewer package's: a
page of a viewer package weighs 0.8 MB before the first pose and brings a web server with its dependencies, this one weighs
about 30 kB and needs nothing; what a multibody motion needs (a few primitive shapes, rigid poses, a time slider) is little.
The page's content security policy forbids it every access to a network.

What is drawn: for a rigid body the ellipsoid of uniform density that has its mass and inertia (a small ball for a point mass),
or its shapes, and rods from the port by which it hangs to its centre of mass and to its other connected ports;
for a rod its surface, through its sections as they stand; for a deformable body the outline of its domain, point by point; for
a block of a user, and a deformable body without outline, a line from its parent port to each child port; the axes of the
joints; the connected ports; tendons and chambers in rods and deformable bodies, which are then seen through; forces as arrows,
torques as arrows with two heads; sensors as cubes.
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.local_files import replaced_file
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME, TYPED
from titop.blocks.basics.user_input import check_suffix, read_count, read_number
from titop.blocks.joints.joint import unit_vector
from titop.solvers.linear.modes import Modes
from titop.solvers.model.model import Model
from titop.solvers.pictures.frames import POINT_BYTES, pack_course
from titop.solvers.pictures.scene import Scene, read_frames, read_visuals

#: Size of a file (bytes); frames that do not fit are left out.
SIZE_LIMIT = 2_000_000

#: Bytes of a pose: seven 32-bit numbers, in base64.
_POSE_BYTES = 7 * 4 * 4 / 3
#: What is left of the limit for numbers of which only the length is unknown before the poses are.
_RESERVE = 2_000


def write_animation(
    model: Model,
    t: Array,
    q: Array,
    path: str | Path,
    visuals: Mapping[str, Any] | None = None,
    frames_per_second: float = 30.0,
    title: str | None = None,
    frames: bool | Iterable[str] = False,
) -> Path:
    """Write a motion as one self-contained HTML file of at most 2 MB, whole or not at all.

    Parameters
    ----------
    t : (n,) array, s
    q : (n, nq) array, rad or m
        Configurations.
    visuals : mapping of block name to shape, optional
        Instead of the bodies' own (``body.visuals``, which readers of robots fill) or the inertia ellipsoids, in the bodies'
        reference frames; ``"world"`` is a block too. A shape is
        ``{"box": [dx, dy, dz]}``, ``{"cylinder": [radius, height]}`` and ``{"capsule": [radius, height]}`` (along z),
        ``{"sphere": radius}``, ``{"ellipsoid": [a, b, c]}`` (m) or ``{"mesh": "arm.stl", "scale": [1, 1, 1]}`` (STL, OBJ, DAE,
        glTF; extra ``view``; or what has ``vertices`` and ``faces``, as meshes of trimesh), with
        ``"color"`` (as Matplotlib names colours), ``"position"`` (3, m) and ``"rotation"`` (3x3 or a scipy Rotation) if
        wanted; a list of shapes, or an empty one, is fine.
    frames_per_second : float
        Of simulated time; the page interpolates between frames.
    title : str, optional
        The model's name by default.
    frames : bool or sequence of str
        Axes that are drawn, x red, y green, z blue: of all bodies and connected ports, or of those named (``"hub.C"``).

    Returns
    -------
    Path
        Of the file. Opened with ``#t=2.5`` behind its address, the page stands still at that time.
    """
    check_suffix(path, ("html", "htm"))
    scene = Scene(model, q, read_visuals(model, {} if visuals is None else visuals), read_frames(model, frames))
    head, tail = resources.files("titop.solvers.pictures").joinpath("animation.html").read_text("utf-8").split("@payload@")
    description = scene.description() | ({} if title is None else {"title": title})
    head = head.replace("@title@", html.escape(description["title"]))
    fixed = len(head) + len(tail) + len(_to_json(description))
    frame_bytes = _POSE_BYTES * len(scene.names) + POINT_BYTES * sum(len(shown.points) for shown in scene.surfaces_shown)
    times = _frame_times(t, frames_per_second, (SIZE_LIMIT - _RESERVE - fixed) / frame_bytes)
    payload = description | _motion(scene, configurations(model, t, q, times), times)
    page = (head + _to_json(payload) + tail).encode("utf-8", "xmlcharrefreplace")
    target = Path(path)
    with replaced_file(target) as file:
        file.write(page)
    return target


def animate_mode(
    modes: Modes, number: int, path: str | Path, amplitude: float | None = None, visuals: Mapping[str, Any] | None = None
) -> Path:
    """Write a self-contained HTML file that plays one mode of a body or a system in a browser.

    Parameters
    ----------
    modes : Modes
        Of a body or a system at rest, from `tt.modes`.
    number : int
        Of the mode in the table, from 1.
    path : str or Path
    amplitude : float, optional, m
        The largest displacement of a port, or of what turns with one at the system's size; a tenth of this size by default.
    visuals : mapping of body name to shape, optional
        As in `Trajectory.animate`.

    Returns
    -------
    Path
        Four undamped periods, in true time. Loops stay closed.

    Raises
    ------
    ModelError
        For modes of linear models, numbers that are not in the table, and modes without a frequency.
    """
    if not isinstance(modes, Modes) or modes.point is None or modes.motions is None:
        got = modes.title if isinstance(modes, Modes) else modes
        raise ModelError(Finding("wrong-type", "modes", got, "normal modes", "pass tt.modes of a body or of a model at rest"))
    most, advice = len(modes.frequency), "print(modes) shows the table"
    read_count(Finding("bad-value", "number", number, f"a number from 1 to {most}", advice), 1, most)
    frequency, motion, (model, q) = (
        modes.frequency[number - 1],
        modes.motions[:, number - 1],
        (modes.point.model, modes.point.q),
    )
    if not (frequency > 0 and modes.damping[number - 1] > -1):
        got, advice = f"mode {number} with {frequency:g} Hz", "take one that oscillates"
        raise ModelError(Finding("bad-value", "number", got, "a mode with a frequency", advice))
    length = model.mechanism.scale.length
    amplitude = length / 10 if amplitude is None else amplitude
    wrong = Finding("bad-size", "amplitude", amplitude, "a length > 0 (m)", "leave it out for a tenth of all")
    height = read_number(wrong, lambda x: 0 < x < np.inf)
    sizes = np.array([1.0] * 3 + [length] * 3)
    largest = max(float(np.abs(sizes * (model.jacobian(port, q) @ motion)).max()) for port in model.port_names)
    step = height / (largest or float(np.abs(motion).max())) * motion
    t = np.linspace(0.0, 4.0 / frequency, 121)
    states = np.array([model.integrate(q, np.sin(2 * np.pi * frequency * time) * step) for time in t])
    if model.is_constrained:
        states = np.array([model.assemble(state, fixed=modes.names) for state in states])
    return write_animation(model, t, states, path, visuals, 30 * frequency, f"{modes.title}: {number}, {frequency:.4g} Hz")


def configurations(model: Model, t: Array, q: Array, times: Array) -> Array:
    """Return configurations (k, nq) at `times` (k, s), the shortest way between those of a motion: q (n, nq) at t (n, s)."""
    before = np.clip(np.searchsorted(t, times, side="right") - 1, 0, max(len(t) - 2, 0))
    result = np.empty((len(times), model.nq))
    for row, (k, time) in enumerate(zip(before, times, strict=True)):
        after = min(k + 1, len(t) - 1)
        part = (time - t[k]) / (t[after] - t[k]) if after > k else 0.0
        result[row] = model.integrate(q[k], part * model.difference(q[k], q[after]))
    return result


# -- frames in time ----------------------------------------------------------------------------------------------------


def _frame_times(t: Array, frames_per_second: float, room: float) -> Array:
    """Return equally spaced times (n,), no more than there is room for."""
    wrong = Finding("bad-rate", "frames_per_second", frames_per_second, "a number > 0", "write frames_per_second=30")
    rate = read_number(wrong, lambda x: 0 < x < np.inf)
    if not len(t):
        raise ModelError(Finding("no-motion", "t", "no times", "a trajectory with states", "simulate first"))
    start, end = float(t[0]), float(t[-1])
    wanted = int(np.ceil(min((end - start) * rate, 1e9) - TYPED)) + 1 if end > start else 1
    count = min(wanted, max(2, int(room)))
    if count < wanted:
        advice = f"{count} of {wanted} frames are written; the page interpolates between them"
        expected = f"no more frames than fit into {SIZE_LIMIT / 1e6:.0f} MB"
        warn([Finding("thinned", "frames_per_second", frames_per_second, expected, advice)])
    return np.linspace(start, end, count)


def _motion(scene: Scene, states: Array, times: Array) -> dict[str, Any]:
    """Return the poses of all frames at configurations `states` (n, nq), and from where to look at them."""
    from scipy.spatial.transform import Rotation

    poses = [scene.poses(q) for q in states]
    rotations = np.array([[rotation for rotation, _ in row] for row in poses])
    positions = np.array([[position for _, position in row] for row in poses])
    quaternions = Rotation.from_matrix(rotations.reshape(-1, 3, 3)).as_quat().reshape(*positions.shape[:2], 4)
    numbers = np.concatenate([positions, quaternions], axis=2).astype("<f4")
    courses = [shown.course(states) for shown in scene.surfaces_shown]
    placed = [
        positions[:, k, None] + np.einsum("tij,tmj->tmi", rotations[:, k], course)
        for k, course in zip((surface["frame"] for surface in scene.surfaces), courses, strict=True)
    ]
    return {
        "start": times[0],
        "end": times[-1],
        "count": len(times),
        "poses": base64.b64encode(numbers.tobytes()).decode("ascii"),
        "courses": [pack_course(course) for course in courses],
        "view": _view(scene, rotations, positions, placed),
    }


def _view(scene: Scene, rotations: Array, positions: Array, surfaces: list[Array]) -> dict[str, Any]:
    """Return what the camera has to see: boxes around the whole motion and about the bodies' mean, ground, direction.

    `surfaces` are the places (count, k, 3; m) of deformable bodies' points.
    """

    def paths(places: Iterable[tuple[int, Array]]) -> Array:
        world = np.zeros_like(positions[:, 0])
        return np.array([positions[:, k] + rotations[:, k] @ x if k >= 0 else world + x for k, x in places])

    points = np.concatenate([paths(scene.extents()), *(places.swapaxes(0, 1) for places in surfaces)])
    center = paths((label["frame"], label["position"]) for label in scene.labels).mean(axis=0)
    e1, e2 = axes = horizontal(scene.up)
    across = _flattest(points.reshape(-1, 3) @ axes.T)
    motion = points @ np.vstack([axes, scene.up]).T
    relative = motion - (center - center[0]) @ np.vstack([axes, scene.up]).T
    return {
        "axes": axes.tolist(),
        "all": {"low": motion.min(axis=(0, 1)), "high": motion.max(axis=(0, 1))},
        "close": {"low": relative.min(axis=(0, 1)), "high": relative.max(axis=(0, 1))},
        "level": motion[..., 2].min(),
        "toward": across[0] * e1 + across[1] * e2,
    }


def horizontal(up: Array) -> Array:
    """Return two directions (2, 3) that make a right-handed frame with `up`."""
    e1 = np.eye(3)[np.abs(up).argmin()]
    e1 = unit_vector(e1 - up * (up @ e1))
    return np.array([e1, np.cross(up, e1)])


def _flattest(points: Array) -> Array:
    """Return the direction (2) in which points (n, 2) spread least, such that from there the first axis points right."""
    spread = np.cov(points, rowvar=False)
    direction = np.linalg.eigh(spread + SAME * np.trace(spread) * np.diag([1.0, 0.0]))[1][:, 0]
    return direction if direction @ [0.5, -1.0] > 0 else -direction


def _to_json(value: Any) -> str:
    """Return JSON that holds no ``<``, so that no name can end the element around it."""
    return json.dumps(value, default=_plain, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _plain(value: Any) -> Any:
    """Return arrays and NumPy numbers as lists and numbers of six digits."""
    return [float(f"{x:.6g}") for x in value] if np.ndim(value) else float(value)
