"""Compiling Python functions to machine code, keeping it, and calling it: knows numba, CPython and NumPy, nothing of mechanics.

Read in this order:

- `kernel`: kernels, stages, features and helpers: what is compiled when it is first needed; `signatures`: their arguments;
- `identity`: what machine code depends on, which is in the names of its files;
- `cache`: machine code on disk; `pieces`: functions in LLVM's language, which come with titop, and machine code of them;
- `compilation`, `parts`: making pieces with numba; `lowering`: what it writes in short; `intrinsics`: what stages ask of it
  beside; `lanes`: numbers of several states side by side; `jets`: numbers along a motion; `optimising`: what LLVM does;
  `sharing`: how kernels call the parts that they share;
- `programs`: programs of one system, compiled by LLVM alone;
- `object_code`, `calling`: running it without numba, called from Python at about the cost of a call from C; these alone rely on
  how CPython's and NumPy's objects lie in memory, which `calling.obstacle` checks; where they lie otherwise, all goes through
  numba's own calls; `callbacks`: Python called from machine code.
"""
