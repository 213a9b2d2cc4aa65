"""What no night needs: each folder registers what it adds to the core, and the core knows none."""
