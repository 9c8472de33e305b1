"""Tools for all blocks: messages, reading of user input, spatial algebra, derivatives. Nothing here knows what a block is.

- `tolerances`: the one table of small numbers; `choices`: choices by value, for one state and for several at once;
- `errors`: findings, errors and warnings, and foreign text in messages;
- `user_input`: conversion of user input to numbers; `user_functions`: checks of functions and
  switches, and functions along rods;
- `spatial`: rotations, twists and wrenches; `pose`: frames in others; `ranks`: numerical ranks;
- `taylor`, `series_arrays`: numbers with their time derivatives, and arrays of them; `complex_steps`: derivatives by complex
  steps; `differences`: by real differences with step control;
- `paths`: dotted names; `notebook`: what notebooks show of objects; `figure`: figures that they show;
- `local_files`: safe reading and writing of files; `garbage`: pauses of the garbage collector; `above`: calls of functions
  of upper layers.
"""
