"""`/try`: several agents attempt a task, each in a worktree; kaa compares the results, and the user takes one over."""
