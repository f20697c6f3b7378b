"""Runs that a script of a person's own trains: what `import ganboard` offers to it, and what stores
its reports."""
