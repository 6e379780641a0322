"""Logins by OAuth 2.0: in the browser (RFC 6749, 7636, 8252), with a code on another device (RFC 8628), and renewed.

Everything here is for clients that a provider gave an id of their own. kaa uses no id of another vendor's program.
"""
