"""Is a session's file whole, and how does it become so again?"""
