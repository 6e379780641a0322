"""Keys and logins."""
