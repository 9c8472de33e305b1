"""Pictures of models and of their motions.

- `figures`: signals over time, and a model in space at some instants;
- `animation`: a motion or a mode as an HTML page, of what `scene` shows: shapes that users give or that stand for bodies, fixed
  in moving frames;
- `meshes`: meshes of files; `viewer`: a live view of the same scene;
- `frames`: these frames, and how rods, deformable bodies and what contacts touch look, for all of these.
"""
