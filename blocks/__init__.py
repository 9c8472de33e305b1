"""What a block is, and the blocks themselves. Nothing here knows of graphs or solvers.

Read in this order:

- `block`: the contract that every block fulfils, and how to write a block of your own; `differences`: derivatives whose steps
  suit the function; `surroundings`, `applied`: what acts on it; `overrides`: what a class redefines; `block_findings`,
  `surroundings_check`, `block_check`: what is wrong with its functions;
- `rigid_body`: rigid bodies and the world;
- `flexible_body`: flexible bodies by modes; `modal_checks`, `modal_analysis`: their data; `modal_reduction`: these from finite
  elements, whose matrices `element_matrices` reads and for which `modal_bases` finds static deformations and modes; `beam`,
  `beam_matrices`: uniform beams;
- `joint`: what joints have in common; `joints`, `quaternion_joints`: the joints; `friction`, `limits`: theirs
  (`coordinate_limits`: those of other coordinates);
  `joint_parameters`: what their numbers are called;
- `closure`, `rigid_closure`: what closes loops; `interaction`, `compliant_closure`, `spring_damper`, `contact`, `cable`: what
  acts on several ports and coordinates; `interaction_findings`: what is wrong with it; `impact`: how contacts and stops push;
  `gear`: coordinates that move together;
- `loads`, `actuators`, `reaction_wheel`, `sensors`: what acts on and reads ports and joints;
- `pose`, `spatial`: frames, rotations, twists and wrenches; `paths`: dotted names;
- `checks`, `functions`, `errors`: reading what users type, and saying what is wrong with it; `garbage`: memory while much is
  built.
"""
