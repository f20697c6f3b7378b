"""`ganboard bench`: the whole (`benchmark`), the candidates (`candidates`, `platform`), the rounds
(`runner`), the results (`report`) and their display (`view`)."""
