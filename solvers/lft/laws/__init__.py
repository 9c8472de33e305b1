"""Laws of blocks about an operating point, their uncertain numbers standing in them as few times as possible.

- `changed_blocks`: a block at other values; `own_coordinates`: its coordinates and rates as uncertain numbers;
- `laws`, and which of them a block has (`block_laws`); `modal_laws` of flexible bodies; `beam_laws` of beams in coordinates of
  their own (`beam_coordinates`, `rescaled`); `spun_laws` of what is flexible and spins;
- `legs`: from port to port of a block, with `own_motions`, `rotations`, `moved_ports`, and `compared_ports` to tell them.
"""
