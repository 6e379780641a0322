"""A small terminal toolkit: terminal, keys, widths, presenters, components. It knows nothing of agents and of kaa.

`component.py` says what a component is, `context.py` what every component can know, `document.py` what presenters show.
"""
