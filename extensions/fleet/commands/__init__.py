"""The commands of a fleet, and what its workers need from the command line."""
