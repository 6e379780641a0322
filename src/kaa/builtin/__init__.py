"""The built-in tools, commands and prompt sections: extensions like any other."""
