"""Arguments, options and settings of the command line."""
