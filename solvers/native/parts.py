"""Helpers as parts of kernels: numba turns each into LLVM's language once, and LLVM optimises only the whole kernels.

By itself numba optimises every function that a kernel calls, turns it into machine code that nobody runs, and does so again
in each function that calls it. Here a function's library keeps its text and what it calls: a piece, of which `pieces` makes
machine code. Shared parts are compiled for themselves and called (see `sharing`).
Of numba's passes only those are run that kernels need.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import llvmlite.binding as llvm
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import cgutils, config, ir, lowering, typed_passes, types, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.ir_utils import get_definition, guard

from titop.solvers.native.identity import hashed, identity_of
from titop.solvers.native.lowering import KernelLowering, calling
from titop.solvers.native.optimising import prepare
from titop.solvers.native.pieces import CodePiece
from titop.solvers.native.sharing import door, stub

#: A place for the address of machine code that is never made.
_NOWHERE = 0

#: In LLVM's text, what differs from process to process and processor to processor, or says nothing; and advice on functions
#: that LLVM 20 does not know.
_REMARKS = re.compile(
    r"^(?:; |source_filename |target )[^\n]*\n|\s+; preds = [^\n]*|nocreateundeforpoison | memory\([^)\n]*errnomem[^)\n]*\)",
    re.MULTILINE,
)
#: Numba's functions that count users of memory, as it has compiled them for this processor: ours are in `calling`.
_COUNTING = re.compile(r"^define [^\n]*(@NRT_(?:incref|decref))\(.*?^}$", re.MULTILINE | re.DOTALL)


class Part(JITCodeLibrary):
    """One function in LLVM's language, and the libraries of those that it calls."""

    #: Numba's description of the function.
    function: Any
    #: Of its source and of all that it calls.
    identity: str

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
        module = llvm.parse_assembly("")
        for part in self.parts():
            module.link_in(llvm.parse_assembly(part.piece.text))
        for function in module.functions:
            if not function.is_declaration:
                function.linkage = llvm.Linkage.linkonce_odr
        return module

    def parts(self) -> Iterator[Part]:
        """Yield this part, those that it calls, and those that they call, each once."""
        waiting, seen = [self], {self.place}
        while waiting:
            yield (part := waiting.pop())
            called = {each.place: each for each in part._linking_libraries if isinstance(each, Part)}
            waiting += [called[place] for place in called if place not in seen]
            seen |= called.keys()

    @property
    def place(self) -> str:
        """The piece's name."""
        return f"{self.function.modname.removeprefix('titop.')}/{self.function.llvm_func_name}"

    @functools.cached_property
    def piece(self) -> CodePiece:
        """The function, and what numba compiled in its own way for it."""
        module, foreign = self.text.clone(), [each for each in self._linking_libraries if not isinstance(each, Part)]
        for library in foreign:
            if library.name != "nrt":
                module.link_in(llvm.parse_assembly(_text(library._get_module_for_linking())))
        for function in module.functions if foreign else ():
            if not function.is_declaration and function.name != self.function.llvm_func_name:
                function.linkage = llvm.Linkage.internal
        needs = {each.place: None for each in self._linking_libraries if isinstance(each, Part)}
        return CodePiece(_text(module), self.function.llvm_func_name, tuple(needs))


def _text(module: llvm.ModuleRef) -> str:
    return _COUNTING.sub(r"declare void \1(ptr)", _REMARKS.sub("", str(module)))


class SharedPart(Part):
    """A part that is compiled for itself, once for all kernels that call it."""

    @functools.cached_property
    def piece(self) -> CodePiece:
        """The function with its stub and door."""
        about = self.identity, self.function.modname, *map(str, self.function.argtypes)
        symbol = f"part_{self.function.qualname}_{hashed(about)}"
        texts = stub(symbol, self.function), door(symbol, self.function)
        return CodePiece(*super().piece[:3], symbol, *texts)


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


@register_pass(mutates_CFG=False, analysis_only=False)
class AbsentFields(FunctionPass):
    """Writes None where a part of an argument is known to be, so that numba drops branches as it does for arguments."""

    _name = "titop_absent_fields"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        code, steps = state.func_ir, [step for block in state.func_ir.blocks.values() for step in block.find_insts(ir.Assign)]

        def known(value: Any) -> Any:
            """Return the type of what is an argument or a part of one, or the variables that a tuple is made of."""
            while isinstance(value, ir.Var) or getattr(value, "op", None) == "exhaust_iter":
                value = guard(get_definition, code, value) if isinstance(value, ir.Var) else value.value
            way = getattr(value, "op", None)
            if isinstance(value, ir.Arg) or way == "build_tuple":
                return value.items if way else state.args[value.index]
            whole = known(value.value) if way in ("getattr", "static_getitem") else None
            if isinstance(whole, list):
                return known(whole[value.index])
            if not isinstance(whole, types.BaseTuple):
                return None
            return whole.types[value.index if way == "static_getitem" else whole.fields.index(value.attr)]

        absent = [step for step in steps if isinstance(step.value, ir.Expr) and isinstance(known(step.value), types.NoneType)]
        for step in absent:
            step.value = ir.Const(None, step.loc)
            code._definitions[step.target.name] = [step.value]
        return bool(absent)


class PartCompiler(CompilerBase):
    """Numba's compiler with the passes that kernels need, and a `Part` for its result."""

    _PASSES = (
        untyped_passes.TranslateByteCode,
        untyped_passes.FixupArgs,
        untyped_passes.IRProcessing,
        AbsentFields,
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
        about = self.state.func_id
        about.unique_id = identity_of(about.func)  # in numba's name of the function: the same in every process
        self.state.library = self._LIBRARY(self.state.targetctx.codegen(), about.func_qualname)
        self.state.library.identity = about.unique_id
        passes = PassManager("kernel")
        for step in self._PASSES:
            passes.add_pass(step, step.__name__)
        passes.finalize()
        return [passes]


class PlainCompiler(CompilerBase):
    """Numba's own, where kernels are called through numba."""

    def define_pipelines(self) -> list[PassManager]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(AbsentFields, untyped_passes.IRProcessing)
        passes.finalize()
        return [passes]


class SharedPartCompiler(PartCompiler):
    """The same with a `SharedPart`."""

    _LIBRARY = SharedPart


#: What operators give for types of arguments, by both.
_KNOWN: dict[tuple[types.Function, tuple[types.Type, ...]], Any] = {}


@contextmanager
def for_any_processor() -> Iterator[None]:
    """Let numba leave it to `optimising` to make loops fast, also in functions that it compiles in its own way."""
    with patch.multiple(config, LOOP_VECTORIZE=0, SLP_VECTORIZE=0):
        yield


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
