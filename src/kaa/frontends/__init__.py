"""Ways to talk to the shell: print and JSON mode."""
