"""The 3DGAN of calorimeter showers: geometry, a shower sampler, observables and CERN's files, all of them free of TensorFlow."""
