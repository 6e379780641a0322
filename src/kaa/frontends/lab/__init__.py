"""`kaa lab`: how often, how fast and how dearly kaa solves tasks with a model, and what a setting changes about it."""
