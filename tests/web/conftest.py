"""The fixtures of the server's tests."""

from web_browser import page, server
from web_server import client, settings

__all__ = ["client", "page", "server", "settings"]
