"""The formats of plugins and marketplaces of other agents. Parsers only: files become data.

`reading.plugin_in` makes a `Plugin` of a folder, `marketplace.marketplace_in` a `Marketplace` of a file. Nothing here
fetches, installs or runs anything.
"""
