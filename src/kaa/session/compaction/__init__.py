"""Condensing a conversation: what goes, what stays, and what is said in place of it. Pure: nobody is asked here."""
