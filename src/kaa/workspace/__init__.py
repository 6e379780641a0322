"""The project as tools see it: one protocol, whatever machine or sandbox stands behind it."""
