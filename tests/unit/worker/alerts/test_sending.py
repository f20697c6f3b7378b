"""Messages on their way to real receivers on this machine: every format, every failure, no secret
in what is said or logged."""

from __future__ import annotations

import base64
import logging
import socket
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ganboard.db.models import AlertChannel
from ganboard.db.settings import Settings
from ganboard.worker.alerts import configuration, formats, messages, sending
from ganboard.worker.alerts.addresses import Mail
from ganboard.worker.alerts.messages import Message
from ganboard.worker.context import Context
from tests.receivers import MailReceiver, WebReceiver, mail_receiver

MESSAGE = messages.test("abc", "https://ganboard.example")
PASSWORD = "verysecretword"
pytestmark = pytest.mark.usefixtures("home")


def channel(kind: str, **options: Any) -> AlertChannel:
    return AlertChannel(name="lab", kind=kind, masked="masked", options=options)


def post(receiver: WebReceiver, kind: str = "webhook", message: Message = MESSAGE) -> None:
    sending.send(Settings(), channel(kind), receiver.url, message)


def failure(call: Callable[[], None]) -> sending.SendError:
    with pytest.raises(sending.SendError) as raised:
        call()
    assert "verysecret" not in str(raised.value)
    return raised.value


@pytest.mark.parametrize("kind", formats.BODIES)
def test_a_web_receiver_gets_each_format(receiver: WebReceiver, kind: str) -> None:
    post(receiver, kind)
    assert receiver.got == [formats.BODIES[kind](MESSAGE)]


@pytest.mark.parametrize("status", [200, 202, 204])
def test_any_success_will_do(receiver: WebReceiver, status: int) -> None:
    receiver.status = status
    post(receiver)


@pytest.mark.parametrize(
    ("status", "temporary", "says"),
    [
        (500, True, "500 Internal Server Error"),
        (503, True, "503 Service Unavailable"),
        (429, True, "429 Too Many Requests"),
        (408, True, "408 Request Timeout"),
        (400, False, "400 Bad Request"),
        (404, False, "404 Not Found). Check that the address is still valid"),
        (410, False, "410 Gone"),
        (599, True, "(599)"),
    ],
)
def test_a_receiver_that_refuses(
    receiver: WebReceiver, status: int, temporary: bool, says: str
) -> None:
    receiver.status = status
    error = failure(lambda: post(receiver))
    assert error.temporary is temporary
    assert says in str(error)


@pytest.mark.parametrize(
    ("header", "pause"),
    [("7", 7.0), ("0.5", 0.5), ("1e9", 3600.0), ("-1", 0), ("nan", 0), ("x", 0)],
)
def test_a_receiver_that_asks_to_wait(receiver: WebReceiver, header: str, pause: float) -> None:
    receiver.status = 429
    receiver.headers = {"Retry-After": header}
    assert failure(lambda: post(receiver)).pause == pause


def test_redirects_are_not_followed(receiver: WebReceiver) -> None:
    receiver.status = 307
    receiver.headers = {"Location": "/elsewhere"}
    error = failure(lambda: post(receiver))
    assert "redirects" in str(error)
    assert not error.temporary
    assert len(receiver.paths) == 1


def test_a_receiver_that_does_not_answer(
    receiver: WebReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "ANSWER_SECONDS", 0.2)
    receiver.silent = True
    error = failure(lambda: post(receiver))
    assert error.temporary
    assert "in time" in str(error)


def test_a_receiver_that_answers_byte_by_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time-out between bytes ever ends it."""
    monkeypatch.setattr(sending, "LIMIT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                while not ended.wait(0.05):
                    connection.sendall(b"H")

        thread = threading.Thread(target=drip)
        thread.start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}/{PASSWORD}"
        began = time.monotonic()
        error = failure(lambda: sending.send(Settings(), channel("webhook"), address, MESSAGE))
        ended.set()
        thread.join()
    assert error.temporary
    assert "No answer within" in str(error)
    assert time.monotonic() - began < 5


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_nobody_there() -> None:
    address = f"http://127.0.0.1:{closed_port()}/{PASSWORD}"
    error = failure(lambda: sending.send(Settings(), channel("slack"), address, MESSAGE))
    assert error.temporary
    assert "Connection refused" in str(error)
    error = failure(lambda: mail(closed_port()))
    assert error.temporary
    assert "Connection refused" in str(error)


def test_what_is_no_longer_allowed_is_not_sent(
    receiver: WebReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ganboard.worker.alerts.addresses.is_loopback", lambda host: False)
    error = failure(lambda: post(receiver))
    assert not error.temporary
    assert "not encrypted" in str(error)
    assert not receiver.paths


def test_no_log_says_an_address(
    receiver: WebReceiver, post_office: MailReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    """httpx logs each request with its address."""
    caplog.set_level(logging.DEBUG)
    logging.getLogger("httpx").setLevel(logging.INFO)
    try:
        post(receiver)
        assert "verysecretword" in caplog.text  # it would
    finally:
        logging.getLogger("httpx").setLevel(logging.WARNING)
    caplog.clear()
    for status in (200, 404, 500):
        receiver.status = status
        try:
            post(receiver)
        except sending.SendError as error:
            logging.getLogger("test").warning("%s", error)
    mail(post_office.port)
    assert "verysecret" not in caplog.text


def test_a_defect_does_not_say_the_address(
    receiver: WebReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defect(*_: Any) -> None:
        raise KeyError(receiver.url)

    monkeypatch.setitem(formats.BODIES, "webhook", defect)
    error = failure(lambda: post(receiver))
    assert "KeyError" in str(error)
    assert not error.temporary


# --- mail ---


def mail(port: int, *, password: str = "", **options: Any) -> None:
    values = {
        "host": "localhost",
        "port": port,
        "security": "none",
        "user": "",
        "sender": "lab@example.org",
        "recipients": ["me@example.org", "you@example.org"],
    }
    sending.send(Settings(), channel("email", **{**values, **options}), password, MESSAGE)


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """A certificate for localhost that this process trusts, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    present = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(present - timedelta(hours=1))
        .not_valid_after(present + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = tmp_path / "certificate.pem", tmp_path / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    monkeypatch.setenv("SSL_CERT_FILE", str(files[0]))
    return str(files[0]), str(files[1])


def test_mail_arrives(post_office: MailReceiver) -> None:
    mail(post_office.port)
    (letter,) = post_office.got
    assert letter["Subject"] == "ganboard: Test message"
    assert "This is a test message" in letter.get_content()
    assert [line.partition("<")[2].rstrip(">") for line in post_office.recipients] == [
        "me@example.org",
        "you@example.org",
    ]
    assert (post_office.logins, post_office.encrypted) == ([], [False])


def test_mail_is_encrypted_before_the_password_is_sent(certificate: tuple[str, str]) -> None:
    with mail_receiver(certificate) as office:
        mail(office.port, security="starttls", user="lab", password=PASSWORD)
    assert office.encrypted == [True]
    assert [base64.b64decode(one) for one in office.logins] == [b"\0lab\0verysecretword"]


def test_a_password_is_not_sent_to_a_server_that_nobody_trusts(
    certificate: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/dev/null")
    with mail_receiver(certificate) as office:
        error = failure(
            lambda: mail(office.port, security="starttls", user="lab", password=PASSWORD)
        )
    assert "certificate" in str(error).lower()
    assert office.logins == []


def test_a_server_without_encryption_gets_no_password(post_office: MailReceiver) -> None:
    error = failure(
        lambda: mail(post_office.port, security="starttls", user="lab", password=PASSWORD)
    )
    assert not error.temporary
    assert "neither the encryption nor the login" in str(error)
    assert post_office.got == post_office.logins == []


@pytest.mark.parametrize(
    ("refuse", "temporary", "says"),
    [
        ({"RCPT": "550 no such user"}, False, "refused the recipients (code 550)"),
        ({"RCPT": "450 later"}, True, "refused the recipients (code 450)"),
        ({"MAIL": "451 later"}, True, "refused the message (code 451)"),
        ({"DATA": "554 spam"}, False, "refused the message (code 554)"),
    ],
)
def test_a_mail_server_that_refuses(
    post_office: MailReceiver, refuse: dict[str, str], temporary: bool, says: str
) -> None:
    post_office.refuse = refuse
    error = failure(lambda: mail(post_office.port))
    assert error.temporary is temporary
    assert says in str(error)


def test_a_wrong_password(certificate: tuple[str, str]) -> None:
    with mail_receiver(certificate) as office:
        office.refuse = {"AUTH": f"535 wrong: {PASSWORD}"}
        error = failure(
            lambda: mail(office.port, security="starttls", user="lab", password=PASSWORD)
        )
    assert not error.temporary
    assert "the user name or the password (code 535)" in str(error)


# --- the button ---


def test_the_test_button_sends_a_test_message_and_nothing_else(
    context: Context, receiver: WebReceiver
) -> None:
    added = configuration.add_channel(context, name="lab", kind="webhook", secret=receiver.url)
    assert sending.send_test(context, added) is None
    (body,) = receiver.got
    assert body["title"] == "Test message"
    assert [set(one) for one in body["alerts"]] == [{"event", "at"}]
    receiver.status = 404
    assert "404 Not Found" in str(sending.send_test(context, added))


def test_the_test_button_sends_mail(context: Context, post_office: MailReceiver) -> None:
    server = Mail("localhost", "lab@example.org", ("me@example.org",), post_office.port, "none")
    added = configuration.add_channel(context, name="me", kind="email", secret="", mail=server)
    assert sending.send_test(context, added) is None
    assert len(post_office.got) == 1
