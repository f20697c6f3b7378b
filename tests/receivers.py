"""Receivers of alerts on this machine: a web server and a mail server that keep what they get, and
fail as they are told."""

from __future__ import annotations

import json
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class WebReceiver:
    """`status` and `headers` are those of the next answers; with `silent` there is none until the
    end."""

    url: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    silent: bool = False
    got: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler], ended: threading.Event) -> Iterator[str]:
    """The address of a server with this handler; `ended` is set before it stops."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def web_receiver(path: str = "/services/T000/B000/verysecretword") -> Iterator[WebReceiver]:
    receiver = WebReceiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.paths.append(self.path)
            if receiver.silent:
                receiver.ended.wait(30)
                return
            receiver.got.append(json.loads(body))
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with listening(Handler, receiver.ended) as url:
        receiver.url = f"{url}{path}"
        yield receiver


@dataclass
class MailReceiver:
    """`refuse` answers a command with a line of its own, such as {"RCPT": "550 no"}."""

    port: int = 0
    refuse: dict[str, str] = field(default_factory=dict)
    got: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)  # as AUTH PLAIN sends them
    encrypted: list[bool] = field(default_factory=list)  # of each message


@contextmanager
def mail_receiver(certificate: tuple[str, str] | None = None) -> Iterator[MailReceiver]:
    """An SMTP server; with a certificate and its key it offers STARTTLS, and AUTH behind it."""
    receiver = MailReceiver()

    class Handler(socketserver.StreamRequestHandler):
        def say(self, line: str) -> None:
            self.wfile.write(f"{line}\r\n".encode())

        def handle(self) -> None:
            secure = False
            self.say("220 receiver.example")
            while line := self.rfile.readline().decode().strip():
                word = line.split()[0].upper()
                if word in receiver.refuse:
                    self.say(receiver.refuse[word])
                elif word == "EHLO":
                    offers = ["AUTH PLAIN"] if secure else ["STARTTLS"] if certificate else []
                    for line in ("receiver.example", *offers):
                        self.say(f"250-{line}")
                    self.say("250 HELP")
                elif word == "STARTTLS":
                    self.say("220 go ahead")
                    self.secure()
                    secure = True
                elif word == "AUTH":
                    receiver.logins.append(line.split()[-1])
                    self.say("235 welcome")
                elif word == "RCPT":
                    receiver.recipients.append(line)
                    self.say("250 ok")
                elif word == "DATA":
                    self.say("354 go ahead")
                    self.keep(secure)
                    self.say("250 stored")
                elif word == "QUIT":
                    self.say("221 bye")
                    return
                else:
                    self.say("250 ok")

        def secure(self) -> None:
            assert certificate is not None
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.connection = context.wrap_socket(self.connection, server_side=True)
            self.request = self.connection
            self.rfile = self.connection.makefile("rb")
            self.wfile = self.connection.makefile("wb", buffering=0)

        def finish(self) -> None:
            super().finish()
            self.connection.close()

        def keep(self, secure: bool) -> None:
            lines = []
            while (line := self.rfile.readline()) != b".\r\n":
                lines.append(line)
            receiver.encrypted.append(secure)
            receiver.got.append(message_from_bytes(b"".join(lines), policy=policy.default))  # type: ignore[arg-type]

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

        def handle_error(self, *_: Any) -> None:
            """A client that goes away in the middle is what some tests want."""

    server = Server(("127.0.0.1", 0), Handler)
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
