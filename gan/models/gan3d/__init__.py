"""3DGAN: showers in a calorimeter, conditioned on the particle's energy and angle (seed 002;
Khattak et al. 2022, EPJ C 82:386)."""
