"""Which addresses a webhook may reach: public ones, and networks that the server's owner allows."""

from __future__ import annotations

import ipaddress
import os
import socket

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

ALLOWED = "RANKGATE_WEBHOOK_NETWORKS"
"""The environment variable with networks that webhooks may reach, such as ``10.0.0.0/8``."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True)
class Networks:
    """Networks that are allowed in addition to public addresses."""

    allowed: tuple[Network, ...] = ()

    def may(self, address: Address) -> bool:
        """Whether a webhook may connect to an address."""
        if any(address in each for each in self.allowed):
            return True
        return not address.is_multicast and all(each.is_global for each in _meant(address))


def networks_allowed() -> Networks:
    """The networks that the environment names.

    Raises:
        UsageError: a word that is no network.
    """
    words = os.environ.get(ALLOWED, "").replace(",", " ").split()
    try:
        return Networks(tuple(ipaddress.ip_network(each, strict=False) for each in words))
    except ValueError as error:
        problem = f"{ALLOWED}: {error}; name networks such as 10.0.0.0/8."
        raise UsageError(problem, code="invalid-address") from None


def resolved(host: str, port: int, networks: Networks) -> str:
    """The address to connect to; each address of the name must be allowed.

    The name is resolved here, once, and the connection is made to this very address: a name that
    points elsewhere a moment later changes nothing.

    Raises:
        UsageError: the name is unknown (``unknown-host``); it is, or also is, an address that a
            webhook may not reach (``private-address``).
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        problem = f"the host {host!r} is not known."
        raise UsageError(problem, code="unknown-host") from None
    addresses = [str(each[4][0]).partition("%")[0] for each in found]
    for each in addresses:
        if not networks.may(ipaddress.ip_address(each)):
            raise UsageError(
                f"the host {host!r} is an address of a private network, which webhooks may not "
                f"reach; who runs the server may allow it in {ALLOWED}.",
                code="private-address",
            )
    return addresses[0]


def _meant(address: Address) -> list[Address]:
    """An address, and those of version 4 that one of version 6 stands for."""
    found: list[Address] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            found = [address.ipv4_mapped]
        if address.sixtofour is not None:
            found.append(address.sixtofour)
        if address.teredo is not None:
            found += address.teredo
        if address in _NAT64:
            found.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return found
