"""What a server is told when it starts."""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
from dataclasses import dataclass, field
from pathlib import Path

from fairtrial._errors import Fault, InputError, Set, Words

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
EVERYWHERE = frozenset({"0.0.0.0", "::"})
MEGABYTE = 1024**2


def own_folder() -> Path:
    """Where audits are kept: in the user's own data folder."""
    base = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return Path(base) / "fairtrial"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Where it listens, who may come in, and how much one audit may use."""

    host: str = "127.0.0.1"
    port: int = 8721
    token: str | None = field(default_factory=lambda: secrets.token_urlsafe(24))  # None: whoever reaches it
    home: Path = field(default_factory=own_folder)
    folder: Path | None = None  # files here may be audited without uploading them
    certificate: Path | None = None  # with it the server speaks https
    most_upload: int = 512 * MEGABYTE
    most_running: int = 2
    most_waiting: int = 20
    most_memory: int = 4096 * MEGABYTE
    most_seconds: int = 3600
    ticket: str = field(default_factory=lambda: secrets.token_urlsafe(24))  # lets one browser in, once

    @property
    def hosts(self) -> frozenset[str]:
        """Names under which a browser may ask for it: anything else is somebody else's page (DNS rebinding)."""
        names = LOOPBACK if self.host in LOOPBACK else {*LOOPBACK, self.host}
        return frozenset({f"{_bracketed(name)}:{self.port}" for name in names})

    def knows(self, host: str) -> bool:
        """Whether it may be asked for under this name; an address in digits is nobody's name, and fits any machine."""
        name, _, port = host.rpartition(":")
        if host in self.hosts or self.host not in EVERYWHERE or port != str(self.port):
            return host in self.hosts
        return name == socket.gethostname() or _is_address(name.strip("[]"))

    @property
    def cookie(self) -> str:
        """Its name: browsers do not tell the ports of a machine apart, and two servers may run there."""
        return f"fairtrial-{self.port}"

    @property
    def ticket_address(self) -> str:
        """What a browser is started with: other users of the machine see it in the list of processes."""
        return self.address if self.token is None else self.address.replace(self.token, self.ticket)

    @property
    def address(self) -> str:
        """What to open in the browser."""
        shown = f"http{'' if self.certificate is None else 's'}://{_bracketed(self.host)}:{self.port}/"
        return shown if self.token is None else f"{shown}?token={self.token}"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name


def check_open(
    host: str,
    token: str | None,
    *,
    no_auth: bool,
    certificate: str | None = None,
    key: str | None = None,
    plain_http: bool = False,
) -> None:
    """Whoever listens beyond this machine has to say who may come in, and how the way there is protected."""
    _check_certificate(host, certificate, key, plain_http)
    if token is not None and no_auth:
        raise InputError(
            "serve",
            Fault("no_auth", Words("cannot be together with {}", Set("token")), cure="leave one of them out"),
        )
    if host not in LOOPBACK and token is None and not no_auth:
        cure = Words(
            "choose a secret with {}, or say that everyone may come in with {}", Set("token"), Set("no_auth")
        )
        raise InputError("serve", Fault("host", "is reached from other machines", got=host, cure=cure))
    if token is not None and len(token) < 16:
        raise InputError("serve", Fault("token", "must have at least 16 characters"))


def _check_certificate(host: str, certificate: str | None, key: str | None, plain_http: bool) -> None:
    for name, given in (("certificate", certificate), ("key", key)):
        if given is not None and not Path(given).is_file():
            raise InputError("serve", Fault(name, "must be a file that exists", got=given))
    if (certificate is None) is not (key is None):
        lacking = "key" if key is None else "certificate"
        raise InputError(
            "serve", Fault(lacking, "must be named too: a certificate and its key belong together")
        )
    if host not in LOOPBACK and certificate is None and not plain_http:
        cure = Words(
            "name a certificate with {} and {}; behind a proxy that has one, or in a network of your own, say {}",
            Set("certificate"), Set("key"), Set("plain_http", True),
        )  # fmt: skip
        required = "is reached from other machines: data and token would go there unencrypted"
        raise InputError("serve", Fault("host", required, got=host, cure=cure))
