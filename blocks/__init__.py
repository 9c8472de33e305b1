"""What a block is, and the blocks themselves. Nothing here knows of graphs or solvers.

Read in this order:

- `basics`: messages, reading of user input, spatial algebra, derivatives; nothing there knows what a block is;
- `programs`: operations and loops of these, and numbers that are not known until they run;
- `laws`: laws that both engines run, as Python and as machine code;
- `contract`: the members of every block, and how to write one of your own;
- `bodies`: rigid and flexible bodies, soft rods;
- `joints`: joints, with their friction and limits;
- `constraints`: rigid closures of loops, and gears;
- `interactions`: springs, contact, cables and other laws between ports and coordinates;
- `surroundings`: what surrounds a spacecraft: gravity of a planet, magnetic fields, air, sunlight;
- `devices`: loads, actuators and sensors;
- `checking`: checks of the functions of users' blocks.

Folders import only from those above them.
"""
