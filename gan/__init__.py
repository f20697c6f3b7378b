"""The science of ganboard: configurations, data, networks, the training loop. Knows no database,
queue or screen.

`gan.config`, `gan.settings`, `gan.events`, `gan.presets` and `gan.data.catalog` are free of
TensorFlow, so that the web process can use them.
"""
