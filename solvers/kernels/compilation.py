"""From a kernel to machine code, by numba and LLVM; loaded only where something is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from numba import njit
from numba.core.registry import cpu_target

from titop.solvers.kernels import calling
from titop.solvers.kernels.calling import PYTHON_FUNCTIONS, check_layout
from titop.solvers.kernels.signatures import Signature

_ENTRY: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_HELPER: dict[str, Any] = {
    **_ENTRY,
    "forceinline": True,
    "_nrt": False,  # no counting of references: helpers may not allocate, entries pass them their arrays
}

#: What kernels may call of the C library, which every Python process has.
_C_LIBRARY = {"memcpy", "memmove", "memset", "fabs", "floor", "ceil", "fmod", "sqrt", "cbrt", "hypot", "pow"}
_C_LIBRARY |= {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sinh", "cosh", "tanh"}
_C_LIBRARY |= {"sin", "cos", "sincos", "tan", "asin", "acos", "atan", "atan2"}


def inlined(function: Callable[..., Any]) -> Any:
    """Return numba's form of a function that becomes part of the kernels that call it."""
    return njit(**_HELPER)(function)


def allocating(function: Callable[..., Any]) -> Any:
    """Return numba's form of a function that stages call; it may allocate memory."""
    return njit(**_ENTRY)(function)


def machine_code(name: str, function: Callable[..., Any], signature: Signature, caller: str = "python_function") -> bytes:
    """Return object code with a function `name` that can be called as `caller` says, a function of `calling`.

    The code needs only Python and the C library.
    """
    check_layout()
    dispatcher = njit(**_ENTRY)(function)
    if not hasattr(dispatcher, "compile"):
        raise RuntimeError("NUMBA_DISABLE_JIT is set; unset it, or use resolve(engine='reference')")
    dispatcher.compile(str(signature))
    (compiled,) = dispatcher.overloads.values()
    module = llvm.parse_assembly(compiled.library.get_llvm_str())
    module.link_in(llvm.parse_assembly(getattr(calling, caller)(name, compiled.fndesc.llvm_func_name, signature)))
    triple, cpu, features = cpu_target.target_context.codegen().magic_tuple()
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=cpu, features=features, opt=3, codemodel="jitdefault", jit=True)
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(module, passes)
    _check_needs(name, module)
    return machine.emit_object(module)


def _check_needs(name: str, module: llvm.ModuleRef) -> None:
    """Raise a `RuntimeError` if a kernel needs what a process without numba does not have."""
    needed = {function.name for function in module.functions if function.is_declaration}
    missing = {need for need in needed - PYTHON_FUNCTIONS.keys() - _C_LIBRARY if not need.startswith("llvm.")}
    if missing:
        raise RuntimeError(f"{name} needs {sorted(missing)}, found in numba only; write the kernel without it")
