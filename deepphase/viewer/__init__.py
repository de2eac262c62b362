"""The player: one offline page that plays skeletons, phases and a song under one time cursor."""
