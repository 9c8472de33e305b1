"""Helpers as parts of kernels: numba turns each into LLVM's language once, and LLVM optimises only the whole kernels.

By itself numba optimises every function that a kernel calls, turns it into machine code that nobody runs, and does so again
in each function that calls it. Here a function's library keeps its text and what it calls; `linked` puts a kernel together, but
for shared parts, which are compiled for themselves and called (see `sharing`).
Of numba's passes only those are run that kernels need.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import llvmlite.binding as llvm
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import cgutils, config, lowering, typed_passes, types, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, _LowerResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager, register_pass

from titop.solvers.native.lowering import KernelLowering, calling
from titop.solvers.native.optimising import optimise, prepare
from titop.solvers.native.sharing import stub

#: A place for the address of machine code that is never made.
_NOWHERE = 0


class Part(JITCodeLibrary):
    """One function in LLVM's language, and the libraries of those that it calls."""

    #: Numba's description of the function.
    function: Any

    def add_ir_module(self, ir_module: Any) -> None:
        self.text = llvm.parse_assembly(cgutils.normalize_ir_text(str(ir_module)))
        self.text.data_layout = self._codegen._data_layout
        prepare(self.text, self._codegen._tm)

    def add_linking_library(self, library: Any) -> None:
        self._linking_libraries.append(library)

    def finalize(self) -> None:
        self._finalized = True

    def _get_module_for_linking(self) -> llvm.ModuleRef:
        """Return all that the function calls, for functions that numba compiles in its own way."""
        module = _together(self, _needed(self, whole=True))
        for function in module.functions:
            if not function.is_declaration:
                function.linkage = llvm.Linkage.linkonce_odr
        return module


class SharedPart(Part):
    """A part that is compiled for itself, once for all kernels that call it."""

    @property
    def symbol(self) -> str:
        """Its name in machine code, and of the file that keeps it: the same in every process."""
        about = repr((self.function.modname, self.function.qualname, *map(str, self.function.argtypes)))
        return f"part_{self.function.qualname}_{hashlib.sha256(about.encode()).hexdigest()[:16]}"


@register_pass(mutates_CFG=False, analysis_only=True)
class Writing(typed_passes.NativeLowering):
    """Numba's translation into LLVM's language, without machine code."""

    _name = "titop_writing"

    @property
    def lowering_class(self) -> type[lowering.Lower]:
        """Numba's own where indices are to be looked at, or debuggers to find their way; else the short one."""
        settings: Any = config
        return lowering.Lower if settings.BOUNDSCHECK or settings.DEBUGINFO_DEFAULT else KernelLowering

    def run_pass(self, state: Any) -> bool:
        state.flags.no_compile = True
        super().run_pass(state)
        written = state["cr"]
        name = written.fndesc.qualname
        state.library.function = written.fndesc
        key = _dynfunc.make_function(written.fndesc.lookup_module(), name, "", _NOWHERE, written.env, (state.library,))
        state.targetctx.insert_func_defn([(calling(written.fndesc, state.library), key, written.fndesc.argtypes)])
        state["cr"] = _LowerResult(written.fndesc, written.call_helper, cfunc=key, env=written.env)
        return True


class PartCompiler(CompilerBase):
    """Numba's compiler with the passes that kernels need, and a `Part` for its result."""

    _PASSES = (
        untyped_passes.TranslateByteCode,
        untyped_passes.FixupArgs,
        untyped_passes.IRProcessing,
        untyped_passes.DeadBranchPrune,
        untyped_passes.GenericRewrites,
        untyped_passes.ReconstructSSA,
        untyped_passes.DeadBranchPrune,
        typed_passes.NopythonTypeInference,
        typed_passes.PreLowerStripPhis,
        typed_passes.NoPythonSupportedFeatureValidation,
        typed_passes.IRLegalization,
        Writing,
        typed_passes.NoPythonBackend,
    )

    _LIBRARY = Part

    def define_pipelines(self) -> list[PassManager]:
        self.state.library = self._LIBRARY(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        passes = PassManager("kernel")
        for step in self._PASSES:
            passes.add_pass(step, step.__name__)
        passes.finalize()
        return [passes]


class SharedPartCompiler(PartCompiler):
    """The same with a `SharedPart`."""

    _LIBRARY = SharedPart


#: What operators give for types of arguments, by both.
_KNOWN: dict[tuple[types.Function, tuple[types.Type, ...]], Any] = {}


@contextmanager
def known_operators() -> Iterator[None]:
    """Let numba look for what an operator gives only once for each type: a third of its time goes into that."""
    find = types.Function.get_call_type

    def get_call_type(self: types.Function, context: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if kws:
            return find(self, context, args, kws)
        if (self, args) not in _KNOWN:
            _KNOWN[self, args] = find(self, context, args, kws)
        return _KNOWN[self, args]

    with patch.object(types.Function, "get_call_type", get_call_type):
        yield


@global_compiler_lock
def linked(part: Part, name: str, text: str, whole: bool = False) -> tuple[llvm.ModuleRef, list[SharedPart]]:
    """Return a module of a part and all that it calls, optimised, and the shared parts that it lacks; if it is `whole`, none.

    Of all functions in it only `name` can be seen from outside, which stands in the `text` that is added.
    """
    needed = list(_needed(part, whole))
    lacking = [] if whole else [library for library in needed if isinstance(library, SharedPart)]
    module = _together(part, (library for library in needed if library not in lacking))
    for added in (text, *(stub(shared.symbol, shared.function) for shared in lacking)):
        module.link_in(llvm.parse_assembly(added))
    for function in module.functions:
        if not function.is_declaration and function.name != name:
            function.linkage = llvm.Linkage.internal
    optimise(module, part._codegen._tm)
    called = {function.name for function in module.functions if function.is_declaration}
    return module, [shared for shared in lacking if shared.symbol in called]


def _together(part: Part, needed: Iterable[Any]) -> llvm.ModuleRef:
    module = llvm.parse_assembly("")
    for text in (part.text, *map(_text, needed)):
        module.link_in(text, preserve=True)
    return module


def _needed(part: Part, whole: bool) -> Iterator[Any]:
    """Yield the libraries that a part calls, and those that they call, each once; what shared parts call if it is `whole`."""
    waiting, seen = [part], {part}
    while waiting:
        for library in waiting.pop()._linking_libraries:
            if library not in seen:
                seen.add(library)
                yield library
                if isinstance(library, Part) and (whole or not isinstance(library, SharedPart)):
                    waiting.append(library)


def _text(library: Any) -> llvm.ModuleRef:
    return library.text if isinstance(library, Part) else library._get_module_for_linking()
