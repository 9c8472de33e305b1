"""What LLVM does to machine code's text before it becomes machine code."""

from __future__ import annotations

import llvmlite.binding as llvm


def prepare(module: llvm.ModuleRef, target: llvm.TargetMachine) -> None:
    """Let LLVM make one function small, before it is put into others: more than half of its text goes."""
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=1))
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_global_dead_code_eliminate_pass()  # addresses in this process, which numba notes and nothing uses
    passes.add_strip_symbols_pass()  # names of values, a quarter of the text
    passes.run(module, builder)


def optimise(module: llvm.ModuleRef, target: llvm.TargetMachine) -> None:
    """Let LLVM inline and simplify all, and make its loops fast.

    At level 1 inverse dynamics of 101 bodies take a quarter longer, Coriolis matrices and energies a sixth, forward dynamics
    and derivatives 7 %; level 3 gains nothing. Without vectorised and unrolled loops factorisations take half as long again.
    """
    _run_passes(module, target, 2, loops=True)


def simplify(module: llvm.ModuleRef, target: llvm.TargetMachine) -> None:
    """Let LLVM simplify one long function."""
    _run_passes(module, target, 1, loops=False)


def _run_passes(module: llvm.ModuleRef, target: llvm.TargetMachine, level: int, loops: bool) -> None:
    """Run LLVM's passes, with those that vectorise and unroll loops if asked to.

    Not those that look for vectors outside loops: with 13,000 operations in a row that takes ten times as long as all else and
    finds none; what it finds in passes along the tree makes mass matrices of 30 to 101 bodies a quarter slower, and inverse
    dynamics 6 %.
    """
    tuning = llvm.create_pipeline_tuning_options(speed_level=level)
    tuning.slp_vectorization = False
    tuning.loop_vectorization = tuning.loop_unrolling = loops
    builder = llvm.create_pass_builder(target, tuning)
    passes = builder.getModulePassManager()
    passes.add_refprune_pass()
    passes.run(module, builder)
