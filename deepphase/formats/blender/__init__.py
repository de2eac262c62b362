"""FBX and .blend files through Blender, which runs as a process of its own."""
