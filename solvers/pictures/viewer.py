"""A live view of a model or a trajectory in a browser, by the package viser: what the page of an animation shows."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError, missing_extra
from titop.blocks.basics.spatial import Array, matrix_quaternion
from titop.solvers.model.model import Model
from titop.solvers.pictures.animation import configurations, horizontal
from titop.solvers.pictures.figures import hermite
from titop.solvers.pictures.frames import tube_triangles
from titop.solvers.pictures.scene import PALETTE, Scene, read_frames, read_visuals

#: Colours of the page's roles, by day.
_ROLES = {"port": "#3a4048", "joint": "#b7791f"}
#: Opacities of what is seen through, as on the page.
_OPACITIES = {"ellipsoid": 0.5, "touched": 0.3}
#: Pictures a second of a trajectory that plays, if the processor is fast enough.
_RATE = 60.0
#: From where a camera looks at first, in parts of what it sees, third upwards.
_FROM = np.array([0.6, -0.7, 0.4])
#: Steps of a slider.
_STEPS = 1000


@runtime_checkable
class Shown(Protocol):
    """A trajectory: its model, and configurations `q` (n, nq) at times `t` (n, s)."""

    model: Model
    t: Array
    q: Array


class Viewer:
    """A live view that `view` opened.

    Parameters
    ----------
    scene : Scene
        What is shown.
    server : viser.ViserServer

    Attributes
    ----------
    url : str
        Where a browser shows it.
    q : (nq,) array
        The configuration shown.
    sliders : dict
        Those of a model, by coordinate.
    is_open : bool
        Whether `stop` was not called yet.
    """

    def __init__(self, scene: Scene, server: Any) -> None:
        self._scene, self._server, self.q, self.is_open = scene, server, scene.q[0], True
        self.sliders = dict[str, Any]()
        self.url = f"http://{server.get_host()}:{server.get_port()}"
        api, description = server.scene, scene.description()
        api.set_up_direction(tuple(scene.up))
        self._frames = [api.add_frame(f"/{k}", show_axes=False) for k in range(len(scene.names))]
        meshes = scene.meshes_by_kind
        for k, shape in enumerate(description["shapes"]):
            path = f"/{shape['frame']}/{k}" if shape["frame"] >= 0 else f"/world {k}"
            size, look = tuple(map(float, shape["size"])), _look(shape["color"], _OPACITIES.get(shape["role"]))
            look |= {"position": shape["position"], "wxyz": np.roll(shape["rotation"], 1)}
            if shape["kind"] == "box":
                api.add_box(path, dimensions=size, **look)
            elif shape["kind"] == "sphere":
                api.add_icosphere(path, scale=size, **look)
            elif shape["kind"] == "cylinder":
                api.add_cylinder(path, scale=size, **look)
            else:
                mesh = meshes[shape["kind"]]
                api.add_mesh_simple(path, mesh.points, mesh.triangles, scale=size, flat_shading=True, side="double", **look)
        self._soft = [
            api.add_mesh_simple(f"/surface {k}", points, triangles, side="double", **_look(color, opacity))
            for k, (points, triangles, color, opacity) in enumerate(self._surfaces(self.q, scene.poses(self.q)))
        ]
        self._lines = [
            api.add_line_segments(
                f"/link {k}", np.zeros((1, 2, 3)), _look(link["color"])["color"], thickness=2 * link["radius"]
            )
            for k, link in enumerate(description["links"])
        ]
        self.show(self.q)
        self._look_at_all()

    def _look_at_all(self) -> None:
        """Let cameras start where they see all, and show the ground."""
        scene, poses = self._scene, [*self._scene.poses(self.q), (np.eye(3), np.zeros(3))]
        seen = [poses[frame][1] + poses[frame][0] @ place for frame, place in scene.extents()]
        points = np.concatenate([seen, *(points for points, *_ in self._surfaces(self.q, poses))])
        low, high = points.min(axis=0), points.max(axis=0)
        middle, size = (low + high) / 2, float(np.linalg.norm(high - low)) or 1.0
        turn = np.column_stack([*horizontal(scene.up), scene.up])
        camera = self._server.initial_camera
        camera.up, camera.look_at = scene.up, middle
        camera.position = middle + size * turn @ _FROM
        ground = middle + ((points - middle) @ scene.up).min() * scene.up
        api, cell = self._server.scene, 10.0 ** np.floor(np.log10(size))
        quaternion = np.roll(matrix_quaternion(turn), 1)
        api.add_grid("/ground", 10 * size, 10 * size, cell_size=cell / 5, section_size=cell, wxyz=quaternion, position=ground)

    def show(self, q: Any) -> None:
        """Show a configuration `q` (nq)."""
        self.q = np.asarray(q, dtype=float)
        poses = self._scene.poses(self.q)
        with self._server.atomic():
            for frame, (rotation, position) in zip(self._frames, poses, strict=True):
                frame.wxyz, frame.position = np.roll(matrix_quaternion(rotation), 1), position
            for handle, (points, *_) in zip(self._soft, self._surfaces(self.q, poses), strict=True):
                handle.vertices = points.astype(np.float32)
            for line, link in zip(self._lines, self._scene.links, strict=True):
                ends = [link[end] | {"pose": (*poses, (np.eye(3), np.zeros(3)))[link[end]["frame"]]} for end in ("from", "to")]
                places = [end["pose"][1] + end["pose"][0] @ end["position"] + end["shift"] for end in ends]
                points = hermite(*places, *(end["pose"][0] @ end["tangent"] for end in ends))
                line.points = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)

    def move(self, name: str) -> None:
        """Show what the sliders say, that of coordinate `name` above all; beyond what the loops allow the last one stays."""
        model = self._scene.model
        q = model.integrate(self._scene.q[0], np.array([slider.value for slider in self.sliders.values()]))
        try:
            self.show(model.assemble(q, fixed=[name]) if model.is_constrained else q)
        except (ModelError, ConvergenceError):
            return

    def stop(self) -> None:
        """Close the view."""
        self.is_open = False
        self._server.stop()

    def _surfaces(self, q: Array, poses: list[tuple[Array, Array]]) -> list[tuple[Array, Array, Any, float | None]]:
        """Return points (k, 3; m), triangles, colour and opacity of rods and deformable bodies."""
        scene, surfaces = self._scene, []
        for swept, look in zip(scene.rods, scene.sweeps, strict=True):
            first, outlines = scene.index[swept.frame(0)], swept.outlines()
            placed = [x + outline @ r.T for (r, x), outline in zip(poses[first:], outlines, strict=False)]
            surfaces.append((np.concatenate(placed), tube_triangles(*outlines.shape[:2]), *_seen(look)))
        for shown, look in zip(scene.surfaces_shown, scene.surfaces, strict=True):
            rotation, position = poses[scene.index[shown.body.name]]
            points = position + shown.course(q[None])[0] @ rotation.T
            surfaces.append((points, shown.triangles, *_seen(look)))
        return surfaces


def view(
    what: Model | Shown,
    q: Any = None,
    visuals: Mapping[str, Any] | None = None,
    host: str = "127.0.0.1",
    port: int = 8080,
    frames: bool | Iterable[str] = False,
) -> Viewer:
    """Open a live view in a browser: of a model with a slider for each coordinate's change, or of a trajectory that plays.

    Parameters
    ----------
    what : Model or Trajectory
    q : (nq,) array_like, optional
        Where a model stands at first; its neutral configuration by default. With closed loops give one that closes them, from
        `Model.assemble`: they then stay closed.
    visuals : mapping of body name to shape, optional
        As in `Trajectory.animate`.
    host, port : str, int
        Where the page is served: on this machine alone by default, and at the next port if that one is taken.
    frames : bool or sequence of str
        As in `Trajectory.animate`.

    Returns
    -------
    Viewer
        With its ``url``, ``show(q)`` and ``stop()``. It lives as long as Python does.

    Raises
    ------
    ModelError
        Where viser is not installed (``pip install "titop[view]"``), or for anything but a model or a trajectory with states.
    """
    if not (isinstance(what, Model) or (isinstance(what, Shown) and len(what.t))):
        expected = "a model, or a trajectory with states"
        raise ModelError(Finding("wrong-type", "what", type(what).__name__, expected, "write tt.view(s.resolve())"))
    try:
        import viser
    except ImportError:
        raise missing_extra("viser", "view", "view", "that package, which shows scenes in a browser") from None
    model = what if isinstance(what, Model) else what.model
    shown = what.q if isinstance(what, Shown) else model.integrate(what.neutral() if q is None else q, np.zeros(what.nv))[None]
    scene = Scene(model, shown, read_visuals(model, {} if visuals is None else visuals), read_frames(model, frames))
    viewer = Viewer(scene, viser.ViserServer(host=host, port=port, label=str(model.name), verbose=False))
    if isinstance(what, Model):
        _add_sliders(viewer, model)
    else:
        _add_player(viewer, what)
    return viewer


def _add_sliders(viewer: Viewer, model: Model) -> None:
    """Add a slider of each coordinate's way from where it stands: within limits, half a turn or the bodies' size both ways."""
    joints = {connection.joint.name: connection.joint for connection in viewer._scene.connections}
    assembly, start = model.mechanism.assembly, viewer.q
    for name, unit in zip(assembly.coordinate_names, assembly.coordinate_units, strict=True):
        reach = np.pi if unit == "rad" else viewer._scene.detail
        limits: Any = next(iter(getattr(joints.get(name), "limits", None) or ()), None)
        at = start[assembly.q_slices[name].start] if limits is not None else 0.0
        ends = (-reach, reach) if limits is None else (max(limits.lower - at, -reach), min(limits.upper - at, reach))
        low, high = min(ends[0], -reach / _STEPS), max(ends[1], reach / _STEPS)  # zero is between, as where sliders stand
        slider = viewer._server.gui.add_slider(f"{name} [{unit}]", low, high, (high - low) / _STEPS, 0.0)
        slider.on_update(lambda _, name=name: viewer.move(name))
        viewer.sliders[name] = slider


def _add_player(viewer: Viewer, trajectory: Shown) -> None:
    """Add a slider of time and a switch, and play."""
    t, gui = trajectory.t, viewer._server.gui
    duration = float(t[-1] - t[0]) or 1.0
    slider = gui.add_slider("t [s]", float(t[0]), float(t[0]) + duration, duration / _STEPS, float(t[0]))
    playing, speed = gui.add_checkbox("play", True), gui.add_slider("speed", 0.1, 4.0, 0.1, 1.0)

    def show(_: Any = None) -> None:
        viewer.show(configurations(trajectory.model, t, trajectory.q, np.array([slider.value]))[0])

    def play() -> None:
        while viewer.is_open:
            begun = time.monotonic()
            if playing.value:
                slider.value = t[0] + (slider.value - t[0] + speed.value / _RATE) % duration
                show()
            time.sleep(max(0.0, 1 / _RATE - (time.monotonic() - begun)))

    slider.on_update(show)
    threading.Thread(target=play, daemon=True).start()


def _look(color: str | int, opacity: float | None = None) -> dict[str, Any]:
    """Return the colour of a shape as viser takes it."""
    name = PALETTE[color % len(PALETTE)] if isinstance(color, int) else _ROLES.get(color, color)
    return {"color": tuple(int(name[k : k + 2], 16) for k in (1, 3, 5)), "opacity": opacity}


def _seen(look: Mapping[str, Any]) -> tuple[Any, float | None]:
    """Return colour and opacity of a surface, None if nothing is seen through it."""
    return look["color"], look["opacity"] if look["opacity"] < 1 else None
