"""`ganboard serve`: registered generators behind HTTP.

`batches` computes what comes together in one call, `split` gives a second version a share of the requests and takes it away again,
`formats` is what goes over the wire, `measures` counts, `application` answers, `server` listens.
"""
