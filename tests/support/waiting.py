"""Wait for something that another thread or process does, however loaded the machine is."""

import itertools
import os
import socket
import time

PATIENCE = 300.0
"""Seconds: more than a loaded machine takes; a test that passes does not wait for so long."""
PORTS = range(10_240, 32_000)
"""Ports that no system gives to a program that asks for any port."""

_offsets = itertools.count(os.getpid() * 37)


def until(found, seconds=PATIENCE):
    """Call a function until it returns a true value, and return this value.

    Pauses are a fifth of the wait so far: asking without pauses takes the processor from what is
    waited for.
    """
    begin = time.monotonic()
    while not (value := found()):
        waited = time.monotonic() - begin
        assert waited < seconds, f"not so within {seconds:g} seconds: {found}"
        time.sleep(min(max(0.01, waited / 5), 0.5))
    return value


def free_port(ports=PORTS):
    """A port for a server that cannot choose one itself; no other process of tests gets it."""
    for offset in itertools.islice(_offsets, len(ports)):
        port = ports[offset % len(ports)]
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise AssertionError("no port is free")
