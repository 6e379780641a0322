"""What an extension registers, divided by subject. `kaa.ext.extension_api` puts it together."""
