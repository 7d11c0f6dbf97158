"""The command line: formatting only."""
