"""FMUs as files: their sources, a library where a C compiler is, and the archive."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.local_files import replaced_file
from titop.solvers.programs.fmu.fmu_description import Variable, build_description, model_description

#: Names of systems in FMI 2.0 and 3.0, with the ending of libraries.
_SYSTEMS = {"linux": ("linux", "linux", ".so"), "win32": ("win", "windows", ".dll"), "darwin": ("darwin", "darwin", ".dylib")}
#: -O2 compiles twice as long, and runs no faster.
_FLAGS = ["-std=c99", "-O1", "-shared", "-fvisibility=hidden"]
#: The files' time, so that the same model gives the same bytes.
_TIME = (1980, 1, 1, 0, 0, 0)


def write_fmu(
    path: str | os.PathLike[str],
    name: str,
    title: str,
    variables: Sequence[Variable],
    code: Mapping[str, str],
    version: int,
    kinds: Sequence[str],
) -> None:
    """Write an FMU, whole or not at all.

    - `name`: of its library; `title`: of the model;
    - `code`: C by name of file: ``model.h``, the numbers and functions that ``runtime.c`` needs, and the controller's. To the
      former the version and the instantiation token, a hash of all, are added;
    - `version`, `kinds`: see `model_description`.

    Raises `ModelError` if the C does not compile, or the folder does not exist. Raises `OSError` if the file cannot be written.
    """
    runtime = files("titop.solvers.programs.fmu").joinpath("runtime.c").read_text("utf-8")
    whole = repr((variables, sorted(code.items()), version, tuple(kinds), runtime))
    token = "{" + str(uuid.uuid5(uuid.NAMESPACE_OID, whole)) + "}"
    head = f'#define FMI_VERSION {version}\n#define MODEL_TOKEN "{token}"\n'
    sources = {**code, "model.h": head + code["model.h"], "runtime.c": runtime}
    compiled = [file for file in sorted(sources) if Path(file).suffix == ".c"]
    content = {f"sources/{file}": text.encode() for file, text in sources.items()}
    content["modelDescription.xml"] = model_description(name, title, token, variables, version, kinds, compiled)
    if version == 3:
        content["sources/buildDescription.xml"] = build_description(name, compiled)
    content |= _library(name, sources, compiled, version)
    with replaced_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, text in sorted(content.items()):
            member = zipfile.ZipInfo(place, _TIME)
            member.create_system, member.external_attr = (3, 0o644 << 16)  # for Unix: all may read it
            archive.writestr(member, text, zipfile.ZIP_DEFLATED)


def compiler() -> list[str] | None:
    """Return the C compiler that the variable CC names, or one that is on the path; None if there is none."""
    named = os.environ.get("CC", "")
    given = [named] if shutil.which(named) else shlex.split(named)  # a path of Windows is no line of a shell
    if given:
        return given if shutil.which(given[0]) else None
    found = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    return None if found is None else [found]


def _library(name: str, sources: Mapping[str, str], compiled: Sequence[str], version: int) -> dict[str, bytes]:
    """Return the compiled library by its place in the archive; nothing where no C compiler is."""
    command, system = compiler(), _SYSTEMS.get(sys.platform)
    if command is None or system is None:
        advice = "tools compile the sources; or install a C compiler, or name one in the variable CC"
        warn([Finding("no-compiler", "export_fmu", "an FMU of sources alone", "a C compiler, for a binary too", advice)])
        return {}
    with tempfile.TemporaryDirectory() as folder:
        for file, text in sources.items():
            Path(folder, file).write_bytes(text.encode())
        library = Path(folder, name + system[2])
        flags = [] if system[0] == "win" else ["-fPIC", "-lm"]  # which clang refuses there
        line = [*command, *_FLAGS, "-o", str(library), *compiled, *flags]
        done = subprocess.run(line, cwd=folder, capture_output=True, encoding="utf-8", errors="replace", check=False)
        if done.returncode:
            got, advice = done.stderr.strip()[:1000], "is it a C99 compiler? CC names another one"
            raise ModelError(Finding("not-compiled", "export_fmu", got, "C that compiles", advice))
        return {f"binaries/{_platform(version)}/{library.name}": library.read_bytes()}


def _platform(version: int) -> str:
    """Return the name of this machine's folder of libraries."""
    old, new, _ = _SYSTEMS[sys.platform]
    if version == 2:
        return f"{old}{64 if sys.maxsize > 2**32 else 32}"
    machine = platform.machine().lower()
    return f"{ {'amd64': 'x86_64', 'arm64': 'aarch64'}.get(machine, machine) }-{new}"
