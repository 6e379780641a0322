"""The one registration surface for built-ins and users alike."""
