"""Each command of the command line: its options, and what it runs."""
