"""The queue and where its runs may start: order, files in the artifact store, drained machines."""
