"""ganboard: launch, watch and compare accelerated GAN training."""
