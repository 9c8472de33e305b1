"""Models as straight-line programs: everything that they compute at a state, as operations without branches.

- `tracing`: the reference engine's passes, run with numbers that are not known yet, become programs;
- `program_outputs`: outputs, by the names of signals;
- `program_outputs`: outputs, by the names of signals;
- `model_program`: what `Model.program` returns: the programs, and their calls at one state or many.
"""
