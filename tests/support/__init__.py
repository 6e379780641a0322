"""Small real implementations that tests of several layers use."""
