"""`ganboard serve`: registered generators behind HTTP.

`batches` computes what comes together in one call, `split` gives a second version a share of the
requests and takes it away again, `bodies` and `connections` bound what clients may hold of memory
and time, `formats` is what goes over the wire, `measures` counts, `application` answers, `server`
listens.
"""
