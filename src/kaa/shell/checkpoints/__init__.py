"""What the files of the project were like at each entry of the session."""
