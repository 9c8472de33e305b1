"""Figures of systems in space at some instants, and of signals over time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.paths import entry_of, owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block
from titop.blocks.contract.description import Picture
from titop.solvers.equilibrium.operating_point import read_point
from titop.solvers.model.model import Model
from titop.solvers.pictures.frames import (
    Frames,
    Solid,
    arrows,
    contact_solids,
    edges,
    neutral_chord,
    pictured_bodies,
    strings,
    swept_rods,
)
from titop.solvers.pictures.meshes import read_meshes
from titop.solvers.pictures.scene import AXES, SOLIDS, read_frames, read_visuals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Straight parts of a curve.
_STRETCHES = 16
#: Triangles of all meshes together.
_FACES = 4_000
#: Width of a letter of a panel's title, in inches.
_LETTER = 0.08
#: Panels on a page.
_PANELS = 12
#: Colours of lines that the colour-blind tell apart, by Okabe and Ito (2008).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def plot_shape(model: Model, point: Any = None, frames: bool | Iterable[str] = False) -> Figure:
    """Draw a system in space at one configuration; `Trajectory.plot_shape` draws several.

    Rods by backbones and sections, beams by their line, deformable bodies by lines on their surface (those of one's own points
    by dots), other flexible bodies and users' blocks by curves to their ports; rigid bodies by lines between what they connect,
    and by their ``visuals``: meshes by few triangles, other shapes by edges; what contacts touch by its edges;
    cables, springs and closures by dotted lines, forces by arrows, torques by arrows with two heads.

    Parameters
    ----------
    model : Model
    point : OperatingPoint, (q, v, tau), (q, v) or q, optional
        The result of `trim`, or any configuration; the neutral one by default.
    frames : bool or sequence of str
        Axes that are drawn, x red, y green, z blue: of all bodies and connected ports, or of those named (``"hub.C"``).

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ModelError
        For an unusable point, one that leaves loops open, and unknown frames.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("swing", gravity=[0, 0, -9.81])
    >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    >>> m = s.resolve()
    >>> tt.plot_shape(m, m.configuration({"hinge": 0.3})).savefig("swing.png")  # doctest: +SKIP
    """
    shown = read_point(model, model.neutral() if point is None else point)
    return plot_shapes(shown.model, shown.q[None], [shown.model.name], frames)


def plot_shapes(model: Model, configurations: Array, labels: Sequence[str], frames: bool | Iterable[str] = False) -> Figure:
    """Draw a model at some configurations (n, nq), as `plot_shape`, each in the colour that the legend tells.

    `labels`: what the legend says of each; there is none of one alone.
    """
    from matplotlib import colormaps

    from titop.blocks.basics.figure import Figure

    figure = Figure(figsize=(6.4, 5.6), layout="constrained")
    axes: Any = figure.add_subplot(projection="3d", computed_zorder=False)  # what is drawn later lies above
    colours, seen = colormaps["viridis"](np.linspace(0.0, 0.88, len(labels))), [np.zeros((1, 3))]
    bars, (solids_of, faces_of), triads = _bars(model), _looks(model), read_frames(model, frames)
    for q, label, colour in zip(configurations, labels, colours, strict=True):
        placed = [position + bar @ rotation.T for name, bar in bars for rotation, position in (model.pose(name, q),)]
        curves = [*_curves(model, q)]
        _draw_lines(axes, placed, colour, linewidth=1.2, marker="o", markersize=2.5)
        _draw_lines(axes, curves, colour, linewidth=1.8)
        looks = [position + line @ rotation.T for n, line in solids_of for rotation, position in (model.pose(n, q),)]
        faces = [position + corners @ rotation.T for n, corners in faces_of for rotation, position in (model.pose(n, q),)]
        _draw_lines(axes, looks, colour, linewidth=0.6, alpha=0.6)
        _draw_faces(axes, faces, colour)
        taut = [np.array([model.pose(str(ref), q)[1] for ref in ports]) for _, ports in strings(model)]
        _draw_lines(axes, taut, colour, linewidth=1.0, linestyle=":")
        wrenches = [*_wrenches(model, q)]
        for ends, heads in wrenches:
            for part in (1.0, 0.75)[:heads]:
                axes.quiver(*ends[0], *part * (ends[1] - ends[0]), color=colour, linewidth=1.2)
        for axis, axis_colour in zip(range(3), AXES, strict=True):
            legs = [np.array([x, x + Frames(model).detail / 6 * r[:, axis]]) for r, x in (model.pose(n, q) for n in triads)]
            _draw_lines(axes, legs, axis_colour, linewidth=1.2)
            seen += legs
        seen += [*taut, *(ends for ends, _ in wrenches)]
        seen += [*placed, *curves, *looks, *(corners.reshape(-1, 3) for corners in faces)]
        seen += _draw_shapes(axes, model, q, colour)
        reach = np.ptp(np.concatenate(seen), axis=0).max() or 1.0
        contact_edges = [*_contact_edges(model, q, reach)]
        _draw_lines(axes, contact_edges, colour, linewidth=0.5, alpha=0.5)
        seen += contact_edges
        axes.plot([], [], color=colour, label=label)
    fit_axes(axes, np.concatenate(seen[len(seen) > 1 :]), -model.gravity if model.gravity.any() else (0.0, 0.0, 1.0))
    if len(labels) > 1:
        axes.legend()
    return figure


def _draw_lines(axes: Any, lines: Sequence[Array], colour: Any, **style: Any) -> None:
    """Draw lines (k, 3; m) as one interrupted line, since each line takes its time."""
    if lines:
        gap = np.full((1, 3), np.nan)
        parts = [part for line in lines for part in (line, gap)][:-1]
        axes.plot(*np.concatenate(parts).T, color=colour, **style)


def _wrenches(model: Model, q: Array) -> Iterator[tuple[Array, int]]:
    """Yield the ends (2, 3; m) of arrows in inertial axes, a third of the bodies' size long, and how many heads they have."""
    reach = Frames(model).detail / 3
    for heads, what in enumerate(("force", "torque"), start=1):
        for _, port, direction, is_inertial in arrows(model, what):
            rotation, position = model.pose(str(port), q)
            yield np.array([position, position + reach * (direction if is_inertial else rotation @ direction)]), heads


def _draw_faces(axes: Any, faces: Sequence[Array], colour: Array) -> None:
    """Draw triangles (k, 3, 3; m) of meshes, the nearest last."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    if faces:
        axes.add_collection3d(Poly3DCollection(np.concatenate(faces), facecolors=colour, shade=True))


def _looks(model: Model) -> tuple[list[tuple[str, Array]], list[tuple[str, Array]]]:
    """Return the lines (k, 3; m) and triangles (k, 3, 3; m) of the bodies' visuals, in the frames of these by name."""
    visuals = read_visuals(model, {})
    meshes = read_meshes([look.kind for looks in visuals.values() for look in looks if look.kind not in SOLIDS], _FACES)
    lines, faces = [], []
    for name, look in ((name, look) for name, looks in visuals.items() for look in looks):
        if look.kind in SOLIDS:
            lines += [(name, line) for line in edges(Solid(look.kind, look.size, look.rotation, look.position))]
        for mesh in meshes.get(look.kind, ()):
            points = look.position + mesh.places(look.size) @ look.rotation.T
            faces.append((name, points[mesh.triangles]))
    return lines, faces


def _draw_shapes(axes: Any, model: Model, q: Array, colour: Array) -> list[Array]:
    """Draw rods and bodies with pictures in a colour (4), all lines at once, and return points (k, 3; m) of each."""
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    lines: list[tuple[Array, float, float]] = []  # points (m), opacity, width
    seen = []
    for outlines, backbone in _rods(model, q):
        lines += [*((outline, 0.6, 0.7) for outline in outlines), (backbone, 1.0, 1.8)]
        seen.append(outlines.reshape(-1, 3))
    for picture in _pictures(model, q):
        if len(picture.triangles):
            lines += [(picture.points[line], 0.7, 0.7) for line in picture.lines]
        if not picture.lines:
            axes.plot(*picture.points.T, ".", color=colour, alpha=0.6, markersize=1.5)
        seen.append(picture.points)
    if lines:
        segments, opacities, widths = zip(*lines, strict=True)
        colours = [(*colour[:3], opacity) for opacity in opacities]
        shown = Line3DCollection(segments, colors=colours, linewidths=widths, capstyle="projecting", joinstyle="round")
        axes.add_collection3d(shown)
    return seen


def _rods(model: Model, q: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the outlines (k, m, 3) and the backbone (k, 3) of every rod, in inertial axes (m)."""
    for swept in swept_rods(model):
        rotations, positions = model.section_poses(swept.rod.name, swept.abscissas, q)
        yield positions[:, None] + np.einsum("kij,kmj->kmi", rotations, swept.outlines()), positions


def _contact_edges(model: Model, q: Array, reach: float) -> Iterator[Array]:
    """Yield the lines (k, 3; m) of what contacts touch, and of the spheres that do, in inertial axes."""
    for _, port, solid in contact_solids(model, reach):
        rotation, position = model.pose(str(port), q)
        yield from (position + line @ rotation.T for line in edges(solid))


def _pictures(model: Model, q: Array) -> Iterator[Picture]:
    """Yield the pictures of the bodies that have one, in inertial axes."""
    for body, in_q in pictured_bodies(model):
        if (picture := body.picture(q[in_q])) is not None:
            rotation, position = model.pose(body.name, q)
            yield picture._replace(points=position + picture.points @ rotation.T)


def _curves(model: Model, q: Array) -> Iterator[Array]:
    """Yield lines (k, 3; m) in inertial axes: of pictures without surface, or of what deforms from port to port."""
    for picture in _pictures(model, q):
        if not len(picture.triangles):
            yield from (picture.points[line] for line in picture.lines)
    for body, in_q in pictured_bodies(model):
        if body.nv and body.picture(q[in_q]) is None:
            near = model.pose(body.name, q)
            yield from (_curve(body, port, near, model.pose(f"{body.name}.{port}", q)) for port in body.ports)


def _curve(block: Block, port: str, near: tuple[Array, Array], far: tuple[Array, Array]) -> Array:
    """Return points (k, 3; m) from a block's parent port to another, poses of which are given.

    The curve leaves both as the straight line between them does in the block's neutral configuration.
    """
    chord, (rotation, start), (end_rotation, end) = neutral_chord(block, port), near, far
    at_rest = np.asarray(block.pose(port, block.neutral())[0], dtype=float) if chord.any() else np.eye(3)
    return hermite(start, end, rotation @ chord, end_rotation @ at_rest.T @ chord)


def hermite(start: Array, end: Array, leaving: Array, arriving: Array) -> Array:
    """Return points (k, 3; m) of the cubic curve between two points with these tangents (3, m)."""
    t = np.linspace(0.0, 1.0, _STRETCHES + 1)[:, None]
    ends = (1 + 2 * t) * (1 - t) ** 2 * start + t**2 * (3 - 2 * t) * end
    return ends + t * (1 - t) ** 2 * leaving - t**2 * (1 - t) * arriving


def _bars(model: Model) -> list[tuple[str, Array]]:
    """Return bodies without coordinates, and the ways (2, 3; m) in each from where it hangs to its mass and what it carries."""
    assembly = model.mechanism.assembly
    ends: dict[str, list[Array]] = defaultdict(list)
    for connection in assembly.connections:
        rotation, position = connection.parent.block.neutral_pose(connection.parent.name)
        ends[connection.parent.block.name].append(position + rotation @ connection.placement.position)
    acting = (ref for what in ("force", "torque") for _, ref, _, _ in arrows(model, what))
    for ref in (*(ref for loop in assembly.loops for ref in loop.named_ports), *acting):
        ends[ref.block.name].append(ref.block.neutral_pose(ref.name)[1])
    bars = []
    for hung in assembly.connections:
        body = hung.child.block
        if not body.nv:
            start = body.neutral_pose(hung.child.name)[1]
            reached = dict.fromkeys(tuple(map(float, end)) for end in (body.mass_properties().com, *ends[body.name]))
            bars += [(body.name, np.array([start, end])) for end in reached]
    return bars


def fit_axes(axes: Any, points: Array | None = None, up: Sequence[float] | Array = (0.0, 0.0, 1.0)) -> None:
    """Show points (n, 3), or all lines, at one scale along all axes, as large as fits, the axis nearest to `up` upright.

    Numbers and names of the axes do not overlap, which matplotlib does not see to.
    """
    from mpl_toolkits.mplot3d.proj3d import proj_transform

    points = np.concatenate([np.transpose(line.get_data_3d()) for line in axes.lines]) if points is None else points
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    room = np.maximum(high - low, 0.25 * (high - low).max() or 1.0)
    middle, upright, size = (low + high) / 2, int(np.abs(up).argmax()), min(axes.bbox.size) / axes.figure.dpi
    limits = [(middle[k] - 0.52 * room[k], middle[k] + 0.52 * room[k]) for k in range(3)]
    for k, axis in enumerate("xyz"):
        axes.set(**{f"{axis}lim": limits[k][:: -1 if k == upright and up[k] < 0 else 1], f"{axis}label": f"{axis} [m]"})
    axes.view_init(elev=18, azim=-60, vertical_axis="xyz"[upright])
    axes.set_box_aspect(room.copy())  # it changes what it gets
    across, upwards, _ = proj_transform(*np.array(np.meshgrid(*limits)).reshape(3, -1), axes.get_proj())
    letters = min(1.0, max(0.75, size / 3.5))  # smaller in small axes
    zoom = 0.19 * (1 - 1.1 * letters / max(size, 2.0)) / max(np.ptp(across), np.ptp(upwards))  # of 0.19, less what labels need
    axes.set_box_aspect(room.copy(), zoom=zoom)
    weights = np.where(np.arange(3) == upright, 1.0, 0.5)  # labels move away along the other axes, which are seen so long
    for k, axis in enumerate((axes.xaxis, axes.yaxis, axes.zaxis)):
        others, part = np.delete(weights, k), np.delete(weights * room, k) / room.max()
        beside = min(1.0, 1.6 * zoom * float(np.linalg.norm(part) / np.linalg.norm(others)))
        axis.labelpad = 31 * letters / beside - 21
        axis.label.set_fontsize(10 * letters)
        axis.set_tick_params(pad=11 * letters / beside - 8, labelsize=10 * letters)
        most = max(1, round(1.3 * size * room[k] / room.max() - 0.5))
        axes.locator_params(axis="xyz"[k], nbins=most)
        ticks = sorted(axis.get_ticklocs(), key=lambda tick: abs(tick - middle[k]))
        inside = [tick for tick in ticks if abs(tick - middle[k]) < 0.45 * room[k]]  # none at corners
        axis.set_ticks(inside[:most] if room[k] > 0.35 * room.max() and inside else ticks[:1])


def in_panels(signals: Mapping[tuple[str, str], Array]) -> dict[str, Array | dict[str, Array]]:
    """Return what `plot_over_time` draws of signals (n,) by name and unit: each in a panel of its own, while a page has room.

    Beyond, those of a block in one unit share a panel, also with blocks whose names differ in numbers; if that does not
    suffice, those of one unit.
    """
    if len(signals) <= _PANELS:
        return {f"{name} [{unit}]": values for (name, unit), values in signals.items()}
    panels = _shared_panels(signals, r"\d+|\..*", len(COLOURS))
    return panels if len(panels) <= _PANELS else _shared_panels(signals, ".*", max(len(COLOURS), 2 * len(signals) // _PANELS))


def _shared_panels(signals: Mapping[tuple[str, str], Array], differing: str, most: int) -> dict[str, Array | dict[str, Array]]:
    """Gather signals in panels of `most` lines, at most: those of one unit with names alike but for what is `differing`."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, unit in signals:
        groups[re.sub(differing, "", name), unit].append(name)
    panels: dict[str, Array | dict[str, Array]] = {}
    for (_, unit), group in groups.items():
        short = len({owner_of(name) for name in group}) == 1 < len(group) <= most
        for part in np.array_split(group, -(-len(group) // most)):
            names = list(map(str, part))
            title = owner_of(names[0]) if short else " … ".join(dict.fromkeys((names[0], names[-1])))
            panels[f"{title} [{unit}]"] = {entry_of(name) if short else name: signals[name, unit] for name in names}
    return panels


def plot_over_time(
    t: Array,
    signals: Mapping[str, Array | Mapping[str, Array]],
    errors: Mapping[str, Array] | None = None,
    columns: int = 3,
    instants: Sequence[float] = (),
) -> Figure:
    """Draw each signal over time in a panel of its own, or several by their names in one.

    `t` (n; s); `errors`: differences to another solution, drawn in red on a second axis; `columns`: panels in a row,
    at most; `instants` (s): marked by lines; NaN by none.
    """
    from matplotlib import colormaps

    from titop.blocks.basics.figure import Figure

    columns = min(columns, len(signals))
    rows, width = -(-len(signals) // columns), {1: 6.4, 2: 4.0}.get(columns, 3.2)
    figure = Figure(figsize=(width * columns, 2.3 * rows), layout="constrained")
    axes = np.atleast_2d(figure.subplots(rows, columns, sharex=True, squeeze=False))
    for axis in axes.flat[len(signals) :]:
        axis.set_visible(False)
    for k, (axis, (label, values)) in enumerate(zip(axes.flat, signals.items(), strict=False)):
        lines = values if isinstance(values, Mapping) else {"": values}
        few = len(lines) <= len(COLOURS)
        colours = COLOURS if few else colormaps["viridis"](np.linspace(0, 0.88, len(lines)))
        for (name, line), colour in zip(lines.items(), colours if len(lines) > 1 else ["black"], strict=False):
            axis.plot(t, line, color=colour, linewidth=1, label=name)
        title = label if _LETTER * len(label) < width else label.replace(" … ", " …\n")
        axis.set_title(title, fontsize=min(10.0, max(6.0, 10 * width / (_LETTER * max(map(len, title.split("\n")))))))
        axis.grid(alpha=0.3)
        if few and len(lines) > 1:
            _name_lines(axis, [*lines], width)
        for instant in instants:
            axis.axvline(instant, color="tab:orange", linewidth=0.8, linestyle="--")
        if errors and label in errors:
            twin = axis.twinx()
            twin.plot(t, errors[label], color="tab:red", linewidth=0.8)
            twin.tick_params(axis="y", labelcolor="tab:red", labelsize=8)
            if (k + 1) % columns == 0:
                twin.set_ylabel("difference", color="tab:red", fontsize=9)
    for axis in axes.flat[max(0, len(signals) - columns) : len(signals)]:
        axis.set_xlabel("t [s]")
        axis.tick_params(labelbottom=True)
    return figure


def _name_lines(axis: Any, names: Sequence[str], width: float) -> None:
    """Write a legend above the lines of a panel `width` inches wide, whose range is made larger by as much as it takes."""
    columns = min(len(names), max(1, int((width - 0.7) / (0.4 + 0.07 * max(map(len, names))))))
    part = min(0.6, (0.1 + 0.14 * -(-len(names) // columns)) / 1.6)  # of the height, 1.6 inches at least
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + part / (1 - part) * (high - low))
    axis.legend(
        loc="upper center", ncols=columns, fontsize=8, borderpad=0.2, labelspacing=0.2, handlelength=1.2, columnspacing=1
    )
