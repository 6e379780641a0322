"""Components: what is shown and can be typed into. Import each from its own module; they load one by one."""
