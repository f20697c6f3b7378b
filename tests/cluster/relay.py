"""Forwards frames between two network devices, each after a delay: what netem does, where the
kernel has none.

    python relay.py DEVICE OTHER [SECONDS]

Without SECONDS it only tries whether it could.
"""

from __future__ import annotations

import select
import socket
import sys
import time
from collections import deque
from contextlib import suppress

_ALL_PROTOCOLS = 3  # ETH_P_ALL
_SOL_PACKET = 263
_VNET_HEADER = 15  # PACKET_VNET_HDR: frames keep their segmentation and checksum offloads
_OUTGOING = 4  # PACKET_OUTGOING: what this program sent itself
_SEND_BUFFER = 32  # SO_SNDBUFFORCE
_RECEIVE_BUFFER = 33  # SO_RCVBUFFORCE
_LARGEST = 1 << 17
_QUEUE = 4 << 20  # bytes of the sockets' buffers


def opened(device: str) -> socket.socket:
    """A socket that receives every frame of a device."""
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS))
    made.setsockopt(_SOL_PACKET, _VNET_HEADER, 1)
    made.setsockopt(socket.SOL_SOCKET, _RECEIVE_BUFFER, _QUEUE)
    made.setsockopt(socket.SOL_SOCKET, _SEND_BUFFER, _QUEUE)
    made.bind((device, _ALL_PROTOCOLS))
    made.setblocking(False)
    return made


def relay(one: socket.socket, other: socket.socket, delay: float) -> None:
    """Forward for ever, `delay` seconds each way."""
    targets = {one: other, other: one}
    waiting: deque[tuple[float, socket.socket, bytes]] = deque()
    while True:
        pause = max(waiting[0][0] - time.monotonic(), 0.0) if waiting else None
        for source in select.select([one, other], [], [], pause)[0]:
            with suppress(OSError):  # the device is down, as after a cut
                frame, address = source.recvfrom(_LARGEST)
                if address[2] != _OUTGOING:
                    waiting.append((time.monotonic() + delay, targets[source], frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, target, frame = waiting.popleft()
            with suppress(OSError):  # likewise: the frame is lost
                target.send(frame)


if __name__ == "__main__":
    sockets = opened(sys.argv[1]), opened(sys.argv[2])
    print("ready", flush=True)
    if len(sys.argv) > 3:
        relay(*sockets, float(sys.argv[3]))
