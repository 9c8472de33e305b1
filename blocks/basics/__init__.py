"""What all blocks stand on: messages, what users type, spatial algebra, derivatives. Nothing here knows what a block is.

- `tolerances`: the one table of small numbers;
- `errors`: findings, errors and warnings; `wording`: the words of strangers in them;
- `user_input`: reading what users type into numbers; `user_functions`: their functions and switches; `sampling`: functions
  along rods;
- `angles`: functions of the angle of rotation vectors; `spatial`: rotations, twists and wrenches; `pose`: frames in others;
  `ranks`: how many singular values count;
- `taylor`, `series_arrays`: numbers with their time derivatives, and arrays of them; `complex_steps`: derivatives by complex
  steps; `differences`: by real differences whose steps suit the function;
- `paths`: dotted names; `units`: of coordinates, and of what goes with them;
- `local_files`: files read and written with care; `garbage`: memory while much is built; `above`: what stands in layers above.
"""
