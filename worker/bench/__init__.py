"""`ganboard bench`: who takes part (`contestants`, `platform`), in turns (`race`); what was found
(`report`) and how it looks (`view`)."""
