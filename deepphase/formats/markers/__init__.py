"""Files of marker systems: C3D, TRC, CSV of Motive; MVNX of Xsens."""
