"""Where entries are kept: one protocol, one file for each database."""
