"""The fixtures of the server's tests."""

from web_server import client, settings

__all__ = ["client", "settings"]
