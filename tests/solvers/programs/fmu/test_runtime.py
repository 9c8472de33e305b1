"""The functions of FMI in C, on a pendulum written by hand, as FMPy calls them."""

import itertools
import shutil
import subprocess
import zipfile

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

from tests.solvers.programs.fmu.pendulum import pendulum
from titop.blocks.basics.errors import ModelError
from titop.solvers.programs.fmu.fmu_archive import compiler, write_fmu

fmpy = pytest.importorskip("fmpy", minversion="0.3.30", reason="FMPy runs FMUs; older ones stop in CVODE or take no paths")
for _part in ("validation", "fmi2", "fmi3", "build"):
    pytest.importorskip(f"fmpy.{_part}")
pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler")


@pytest.fixture(scope="module", params=[2, 3])
def version(request):
    return request.param


@pytest.fixture(scope="module")
def made(tmp_path_factory, version):
    folder = tmp_path_factory.mktemp("fmus")
    for controlled in (False, True):
        variables, code = pendulum(controlled)
        write_fmu(folder / f"{controlled}.fmu", "pend", "a pendulum", variables, code, version, ["me", "cs"])
    return folder


@pytest.fixture(scope="module")
def path(made):
    return str(made / "False.fmu")


def place(path, name):
    variables = fmpy.read_model_description(path, validate=False).modelVariables
    return next(variable.valueReference for variable in variables if variable.name == name)


@pytest.fixture
def instance(path, version, tmp_path):
    """An instance for co-simulation, initialised at time 0."""
    fmpy.extract(path, tmp_path)
    description = fmpy.read_model_description(path, validate=False)
    kind = fmpy.fmi2.FMU2Slave if version == 2 else fmpy.fmi3.FMU3Slave
    token = description.guid if version == 2 else description.instantiationToken
    fmu = kind(guid=token, unzipDirectory=tmp_path, modelIdentifier="pend", instanceName="one")
    fmu.instantiate()
    if version == 2:
        fmu.setupExperiment(tolerance=1e-10, startTime=0.0)
        fmu.enterInitializationMode()
    else:
        fmu.enterInitializationMode(tolerance=1e-10, startTime=0.0)
    fmu.exitInitializationMode()
    get, put = (fmu.getReal, fmu.setReal) if version == 2 else (fmu.getFloat64, fmu.setFloat64)
    yield fmu, get, put
    fmu.terminate()
    fmu.freeInstance()


def test_validation_finds_nothing(made):
    for file in ("True.fmu", "False.fmu"):
        assert fmpy.validation.validate_fmu(str(made / file)) == []


@pytest.mark.parametrize("kind", ["CoSimulation", "ModelExchange"])
def test_swing_is_jacobis(path, kind):
    q0, g = 1.2, 9.0
    r = fmpy.simulate_fmu(
        path,
        fmi_type=kind,
        stop_time=3.0,
        output_interval=0.1,
        relative_tolerance=1e-10,
        start_values={"hinge.q": q0, "gravity": g},
        output=["hinge.q", "height"],
        record_events=False,
    )
    k, w = np.sin(q0 / 2), np.sqrt(g)
    q = 2 * np.arcsin(k * ellipj(ellipk(k**2) - w * r["time"], k**2)[0])
    # steps hold 1e-10 each, some hundred of them; CVODE's errors are some hundred times its tolerance
    assert np.abs(r["hinge.q"] - q).max() < (1e-9 if kind == "CoSimulation" else 1e-7)
    np.testing.assert_allclose(r["height"], -np.cos(r["hinge.q"]), rtol=1e-15)


def test_tolerance_is_obeyed(path):
    ends = [
        fmpy.simulate_fmu(path, fmi_type="CoSimulation", stop_time=3.0, output_interval=3.0, relative_tolerance=each)[
            "hinge.q"
        ][-1]
        for each in (1e-4, 1e-8, 1e-12)
    ]
    errors = np.abs(np.array(ends[:2]) - ends[2])
    assert 0 < errors[1] < 1e-2 * errors[0] < 1e-2


def test_inputs_act(path):
    t = np.linspace(0.0, 2.0, 21)
    tau = np.array([*zip(t, np.where(t < 1.0, 3.0, -2.0), strict=True)], dtype=[("time", "f8"), ("hinge.tau", "f8")])
    r = fmpy.simulate_fmu(
        path,
        "CoSimulation",
        stop_time=2.0,
        output_interval=0.1,
        relative_tolerance=1e-11,
        input=tau,
        start_values={"bob.mass": 3.0},
    )
    x = np.array([0.3, 0.0])
    for k in range(20):
        held = np.interp(r["time"][k], tau["time"], tau["hinge.tau"])
        x = solve_ivp(lambda t, x, u=held: [x[1], -9.81 * np.sin(x[0]) + u / 3.0], [0, 0.1], x, rtol=1e-12, atol=1e-14).y[:, -1]
    assert abs(r["hinge.q"][-1] - x[0]) < 1e-9  # twenty steps of 1e-11, and what FMPy interpolates


@pytest.mark.parametrize("kind", ["CoSimulation", "ModelExchange"])
def test_sampled_controller_keeps_its_clock(made, kind):
    """Also where communication and samples do not coincide."""
    r = fmpy.simulate_fmu(
        str(made / "True.fmu"),
        fmi_type=kind,
        stop_time=1.05,
        output_interval=0.07,
        relative_tolerance=1e-11,
        start_values={"r_hinge.q": 0.2},
        output=["hinge.q", "hinge.command"],
        record_events=False,
    )
    x, total, samples = np.array([0.3, 0.0]), 0.0, []
    for _ in range(11):
        command, total = 5.0 * (0.2 - x[0]) + 0.5 * total, total + 0.2 - x[0]
        part = solve_ivp(
            lambda t, x, c=command: [x[1], -9.81 * np.sin(x[0]) + c / 2.0],
            [0, 0.1],
            x,
            rtol=1e-12,
            atol=1e-14,
            dense_output=True,
        )
        samples.append(part.sol)
        x = part.y[:, -1]
    q = [samples[int(t / 0.1 + 1e-9)](t - 0.1 * int(t / 0.1 + 1e-9))[0] for t in r["time"]]
    # DOP853 is not needed for the reference: its interpolation is of fourth order, 1e-8 between steps
    assert np.abs(r["hinge.q"] - q).max() < 1e-7
    assert np.unique(r["hinge.command"]).size > 8


def test_derivatives_forward_and_backwards(path, instance, version):
    fmu, _, put = instance
    names = ["bob.mass", "gravity", "hinge.tau", "hinge.q", "hinge.v"]
    put([place(path, name) for name in names], [2.0, 9.81, 0.7, 0.4, -0.3])
    J = {("der(hinge.v)", "bob.mass"): -0.7 / 4, ("der(hinge.v)", "gravity"): -np.sin(0.4), ("der(hinge.v)", "hinge.tau"): 0.5}
    J |= {
        ("der(hinge.v)", "hinge.q"): -9.81 * np.cos(0.4),
        ("der(hinge.q)", "hinge.v"): 1.0,
        ("height", "hinge.q"): np.sin(0.4),
    }
    J |= {("hinge.q", "hinge.q"): 1.0}
    for of, by in itertools.product(["der(hinge.q)", "der(hinge.v)", "height", "hinge.q"], names):
        forward = fmu.getDirectionalDerivative([place(path, of)], [place(path, by)], [2.0])
        np.testing.assert_allclose(forward, [2.0 * J.get((of, by), 0.0)], rtol=1e-15)
        if version == 3:
            backward = fmu.getAdjointDerivative([place(path, of)], [place(path, by)], [3.0])
            np.testing.assert_allclose(backward, [3.0 * J.get((of, by), 0.0)], rtol=1e-15)


def test_saved_states_go_on_with_the_same_bits(path, instance, version):
    fmu, get, _ = instance
    q = [place(path, "hinge.q")]
    save, load = (fmu.getFMUstate, fmu.setFMUstate) if version == 2 else (fmu.getFMUState, fmu.setFMUState)
    fmu.doStep(0.0, 0.5)
    kept = save()
    data = fmu.serializeFMUstate(kept) if version == 2 else fmu.serializeFMUState(kept)
    ends = []
    for state in (kept, kept, fmu.deSerializeFMUstate(data) if version == 2 else fmu.deserializeFMUState(data)):
        load(state)
        fmu.doStep(0.5, 0.5)
        ends.append(get(q)[0])
    assert ends[0] == ends[1] == ends[2] != 0.3


def test_reset_begins_anew(path, instance):
    fmu, get, put = instance
    q = [place(path, "hinge.q")]
    put(q, [1.0])
    fmu.doStep(0.0, 0.5)
    fmu.reset()
    assert get(q) == [0.3]


@pytest.mark.parametrize(("time", "step"), [(0.5, -0.1), (0.5, np.nan), (0.5, np.inf), (0.7, 0.1), (0.0, 0.1)])
def test_steps_that_cannot_be_are_refused(path, instance, time, step):
    """Backwards, of no length, and not from where the last one ended; nothing moves."""
    fmu, get, _ = instance
    now = [place(path, "hinge.q"), place(path, "time")]
    fmu.doStep(0.0, 0.5)
    before = get(now)
    with pytest.raises(Exception, match=r"status 3 \(error\)"):
        fmu.doStep(time, step)
    assert get(now) == before
    fmu.doStep(0.5, 0.1)
    assert get(now) != before


@pytest.mark.parametrize(("name", "value"), [("hinge.q", np.nan), ("height", 1.0), ("der(hinge.q)", 0.0), ("time", 1.0)])
def test_what_cannot_be_set_is_refused(path, instance, name, value):
    _, get, put = instance
    before = get([place(path, "hinge.q")])
    with pytest.raises(Exception, match=r"status 3 \(error\)"):
        put([place(path, name)], [value])
    assert get([place(path, "hinge.q")]) == before


def test_lost_model_is_an_error(path, instance):
    """The C of the model returns a status: at angles above 100."""
    fmu, get, put = instance
    put([place(path, "hinge.q")], [200.0])
    with pytest.raises(Exception, match=r"\(discard\)"):
        get([place(path, "der(hinge.v)")])
    with pytest.raises(Exception, match=r"\(error\)"):
        fmu.doStep(0.0, 0.1)


def test_indicator_is_an_event(path):
    r = fmpy.simulate_fmu(path, fmi_type="ModelExchange", stop_time=0.6, output_interval=0.5, output=["hinge.q"])
    inside = (r["time"] > 0.0) & (r["time"] < 0.5)
    assert inside.any()
    assert np.abs(r["hinge.q"][inside] - 0.1).min() < 1e-5  # where the indicator, q - 0.1, changes its sign


def test_wrong_token_makes_no_instance(path, version, tmp_path):
    fmpy.extract(path, tmp_path)
    kind = fmpy.fmi2.FMU2Slave if version == 2 else fmpy.fmi3.FMU3Slave
    with pytest.raises(Exception, match="instantiate"):
        kind(guid="{other}", unzipDirectory=tmp_path, modelIdentifier="pend", instanceName="one").instantiate()


@pytest.mark.parametrize("controlled", [False, True])
def test_c_compiles_without_warnings(made, tmp_path, controlled):
    fmpy.extract(str(made / f"{controlled}.fmu"), tmp_path)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wno-type-limits", "-fsyntax-only"]  # counts may be zero
    sources = ["runtime.c", "law.c"][: 1 + controlled]
    done = subprocess.run([*compiler(), *flags, *sources], cwd=tmp_path / "sources", capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.long
@pytest.mark.skipif(shutil.which("cmake") is None, reason="FMPy compiles with cmake")
def test_fmpy_compiles_the_sources(path, tmp_path):
    fmpy.extract(path, tmp_path)
    shutil.rmtree(tmp_path / "binaries")
    fmpy.build.build_platform_binary(tmp_path)
    assert len(fmpy.simulate_fmu(str(tmp_path), stop_time=0.1)) > 2


def test_same_model_gives_the_same_bytes(path, version, tmp_path):
    variables, code = pendulum()
    write_fmu(tmp_path / "again.fmu", "pend", "a pendulum", variables, code, version, ["me", "cs"])
    with zipfile.ZipFile(path) as one, zipfile.ZipFile(tmp_path / "again.fmu") as other:
        assert one.namelist() == other.namelist()
        for name in one.namelist():
            if not name.startswith("binaries"):
                assert one.read(name) == other.read(name)


def test_c_that_does_not_compile_leaves_no_file(version, tmp_path):
    variables, code = pendulum()
    with pytest.raises(ModelError, match="not-compiled"):
        write_fmu(tmp_path / "a.fmu", "pend", "t", variables, code | {"other.c": "no C"}, version, ["me"])
    assert list(tmp_path.iterdir()) == []


def test_a_path_with_blanks_and_strokes_is_a_compiler(tmp_path, monkeypatch):
    path = tmp_path / "my\\own compiler"
    monkeypatch.setenv("CC", str(path))
    assert compiler() is None
    path.touch(0o755)
    assert compiler() == [str(path)]
    monkeypatch.setenv("CC", f"'{path}' -m32")
    assert compiler() == [str(path), "-m32"]


def test_without_a_compiler_there_are_sources(version, tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    variables, code = pendulum()
    with pytest.warns(UserWarning, match="no-compiler"):
        write_fmu(tmp_path / "a.fmu", "pend", "t", variables, code, version, ["me"])
    assert fmpy.validation.validate_fmu(str(tmp_path / "a.fmu")) == []
    with zipfile.ZipFile(tmp_path / "a.fmu") as archive:
        assert not any(name.startswith("binaries") for name in archive.namelist())
