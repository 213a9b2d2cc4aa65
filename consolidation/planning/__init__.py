"""The file to a plan: everything that a run will do, decided before it does anything."""
