"""In-betweens to a single target pose, by the protocol of the LAFAN1 benchmark."""
