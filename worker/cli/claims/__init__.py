"""The commands of claims: stating one (`launch`), and those that are stored (`stored`)."""
