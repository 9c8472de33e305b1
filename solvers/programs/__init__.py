"""Models as straight-line programs: everything that they compute at a state, as operations without branches.

- `tracing`: the reference engine's passes, run with numbers that are not known yet, become programs;
- `model_program`: what `Model.program` returns: the programs, and their calls at one state or many.
"""
