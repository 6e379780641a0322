"""Editing text without showing it: buffer, undo, movements, kill ring, pastes, history, layout, vim's keys."""
