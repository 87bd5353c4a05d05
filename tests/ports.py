"""ports.py - ports of this machine for the servers of tests"""

import socket


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]
