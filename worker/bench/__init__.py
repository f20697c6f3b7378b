"""`ganboard bench`: who takes part (`candidates`, `platform`), in turns (`run_benchmark`); what was found
(`report`) and how it looks (`view`)."""
