"""Addresses that a webhook may reach: public ones and networks that the server's owner allows."""

from __future__ import annotations

import ipaddress
import os
import socket

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

NETWORKS_VARIABLE = "RANKGATE_WEBHOOK_NETWORKS"
"""The environment variable with networks that webhooks may reach, such as ``10.0.0.0/8``."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True)
class Networks:
    """Networks that are allowed in addition to public addresses."""

    allowed: tuple[Network, ...] = ()

    def may(self, address: Address) -> bool:
        """True if a webhook may connect to an address."""
        if any(address in network for network in self.allowed):
            return True
        return not address.is_multicast and all(
            equivalent.is_global for equivalent in list_equivalent_addresses(address)
        )


def read_allowed_networks() -> Networks:
    """The networks that the environment names.

    Raises:
        UsageError: a text that is not a network.
    """
    network_texts = os.environ.get(NETWORKS_VARIABLE, "").replace(",", " ").split()
    try:
        return Networks(tuple(ipaddress.ip_network(text, strict=False) for text in network_texts))
    except ValueError as error:
        problem = f"{NETWORKS_VARIABLE}: {error}; name networks such as 10.0.0.0/8."
        raise UsageError(problem, code="invalid-address") from None


def resolve_address(host: str, port: int, networks: Networks) -> str:
    """The address to connect to; each address of the name must be allowed.

    The name is resolved here, once, and the connection is made to this very address: a name that
    points elsewhere a moment later changes nothing.

    Raises:
        UsageError: the name is unknown (``unknown-host``); it is, or also is, an address that a
            webhook may not reach (``private-address``).
    """
    try:
        address_infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        problem = f"the host {host!r} is not known."
        raise UsageError(problem, code="unknown-host") from None
    addresses = [str(info[4][0]).partition("%")[0] for info in address_infos]
    for address in addresses:
        if not networks.may(ipaddress.ip_address(address)):
            raise UsageError(
                f"the host {host!r} is an address of a private network, which webhooks may not "
                f"reach; who runs the server may allow it in {NETWORKS_VARIABLE}.",
                code="private-address",
            )
    return addresses[0]


def list_equivalent_addresses(address: Address) -> list[Address]:
    """An address, and the IPv4 addresses that an IPv6 address stands for."""
    addresses: list[Address] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            addresses = [address.ipv4_mapped]
        if address.sixtofour is not None:
            addresses.append(address.sixtofour)
        if address.teredo is not None:
            addresses += address.teredo
        if address in _NAT64:
            addresses.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return addresses
