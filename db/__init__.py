"""The truth: tables, engine, all reads (`queries`), all writes (`commands`), migrations. Imports
nothing else of ganboard."""
