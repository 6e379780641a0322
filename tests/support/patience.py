"""How long a test waits for what always comes, on the busiest machine."""

# Reaching it means that something hangs: a run of half a second takes 20 s on a machine that does 40 other things.
# What must be killed to end (`sleep 1000`) goes on for longer.
HANG_SECONDS = 120.0
