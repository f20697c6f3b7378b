"""Sends one message to one channel, within a time limit. Nothing here follows a redirect, reads the
body of an answer, or names the secret in an error."""

from __future__ import annotations

import logging
import smtplib
import ssl
import threading
from http import HTTPStatus
from urllib.parse import urlsplit

import httpx

from ganboard.db.alerts import channels, deliveries
from ganboard.db.errors import BadAlert
from ganboard.db.models import AlertChannel
from ganboard.db.settings import Settings
from ganboard.worker.access import is_loopback
from ganboard.worker.alerts import addresses, formats, messages
from ganboard.worker.alerts.messages import Message
from ganboard.worker.context import Context
from ganboard.worker.errors import WorkerError

CONNECT_SECONDS = 4.0
ANSWER_SECONDS = 8.0
LIMIT_SECONDS = 12.0  # for everything: less than a claim lasts, and a heartbeat
LONGEST_PAUSE_SECONDS = 3600.0  # that a receiver may ask for
TEMPORARY = (408, 425, 429)  # and all from 500 on
# what they log at lower levels contains addresses
for name in ("httpx", "httpcore"):
    logging.getLogger(name).setLevel(logging.WARNING)


class SendError(WorkerError):
    """The message has not arrived: one sentence without the secret. `temporary`: a later try may
    succeed, after `pause` seconds if the receiver said so."""

    def __init__(self, sentence: str, *, temporary: bool, pause: float = 0.0) -> None:
        super().__init__(sentence)
        self.temporary = temporary
        self.pause = pause


def send(settings: Settings, channel: AlertChannel, secret: str, message: Message) -> None:
    """Send a message. Raises SendError.

    It is sent in a thread, since a receiver that answers byte by byte would never meet a time-out;
    one that accepts the message after the limit gets it twice.
    """
    outcome: list[SendError | None] = []

    def attempt() -> None:
        outcome.append(_outcome(settings, channel, secret, message))

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(LIMIT_SECONDS)
    error = (
        outcome[0]
        if outcome
        else SendError(f"No answer within {LIMIT_SECONDS:.0f} s.", temporary=True)
    )
    if error is not None:
        raise error


def send_test(context: Context, channel: AlertChannel) -> str | None:
    """Send a test message now; why it did not arrive, None when it did. Raises UnknownAlert, and
    NotAllowed before anything is sent."""
    error = None
    test_id = deliveries.begin_test(context.engine, channel.id)
    secret = channels.secret(context.engine, channel.id)
    message = messages.test(test_id, context.settings.public_url)
    try:
        send(context.settings, channel, secret, message)
    except SendError as failed:
        error = str(failed)
    deliveries.end_test(context.engine, test_id, error)
    return error


def _outcome(
    settings: Settings, channel: AlertChannel, secret: str, message: Message
) -> SendError | None:
    try:
        if channel.kind == "email":
            _mail(settings, channel, secret, message)
        else:
            _post(settings, channel, secret, message)
    except SendError as error:
        return error
    except BadAlert as error:  # what was allowed when the channel was made is no more
        return SendError(str(error), temporary=False)
    except (httpx.TimeoutException, TimeoutError):
        return SendError("The receiver does not answer in time.", temporary=True)
    except (httpx.TransportError, OSError, smtplib.SMTPServerDisconnected) as error:
        return SendError(_unreachable(error, secret), temporary=True)
    except Exception as defect:  # its text may contain the address
        return SendError(f"Sending failed with {type(defect).__name__}.", temporary=False)
    return None


def _post(settings: Settings, channel: AlertChannel, address: str, message: Message) -> None:
    addresses.check_webhook(settings, address)
    here = is_loopback(urlsplit(address).hostname or "")
    timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
    body = formats.BODIES[channel.kind](message)
    with (
        httpx.Client(timeout=timeout, follow_redirects=False, trust_env=not here) as client,
        client.stream("POST", address, json=body) as response,
    ):
        status = response.status_code
        retry_after = response.headers.get("retry-after", "")
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise SendError(
            f"The receiver redirects elsewhere (status {status}). Enter the final address.",
            temporary=False,
        )
    temporary = status >= 500 or status in TEMPORARY
    remedy = "" if temporary else " Check that the address is still valid."
    raise SendError(
        f"The receiver refused the message ({_status(status)}).{remedy}",
        temporary=temporary,
        pause=_pause(retry_after),
    )


def _mail(settings: Settings, channel: AlertChannel, password: str, message: Message) -> None:
    options = channel.options
    mail = addresses.Mail(**{**options, "recipients": tuple(options["recipients"])})
    addresses.check_mail(settings, mail, password)
    letter = formats.mail(message, sender=mail.sender, recipients=mail.recipients)
    trusted = ssl.create_default_context()
    try:
        with _connect(mail, trusted) as server:
            if mail.security == "starttls":
                server.starttls(context=trusted)
            if mail.user:
                server.login(mail.user, password)
            server.send_message(letter)
    except smtplib.SMTPNotSupportedError:
        raise SendError(
            "The mail server supports neither the encryption nor the login that the channel asks"
            " for.",
            temporary=False,
        ) from None
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _ in error.recipients.values()]
        raise _refused_mail("the recipients", min(codes)) from None
    except smtplib.SMTPAuthenticationError as error:
        raise _refused_mail("the user name or the password", error.smtp_code) from None
    except smtplib.SMTPResponseException as error:
        raise _refused_mail("the message", error.smtp_code) from None


def _connect(mail: addresses.Mail, trusted: ssl.SSLContext) -> smtplib.SMTP:
    # an address as its own name: looking up a name may take long, and says who we are
    own = "[127.0.0.1]"
    port = mail.port or addresses.PORTS[mail.security]
    if mail.security == "tls":
        return smtplib.SMTP_SSL(mail.host, port, own, timeout=ANSWER_SECONDS, context=trusted)
    return smtplib.SMTP(mail.host, port, own, timeout=ANSWER_SECONDS)


def _refused_mail(what: str, code: int) -> SendError:
    temporary = 400 <= code < 500
    remedy = "" if temporary else " Check the settings of the channel."
    return SendError(f"The mail server refused {what} (code {code}).{remedy}", temporary=temporary)


def _unreachable(error: Exception, secret: str) -> str:
    cause = (str(error).strip().splitlines() or [type(error).__name__])[0][:200].rstrip(".")
    if secret:
        cause = cause.replace(secret, "…")
    return f"The receiver cannot be reached ({cause})."


def _status(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _pause(retry_after: str) -> float:
    """Seconds that a receiver asks to wait; dates are not understood."""
    try:
        seconds = float(retry_after)
    except ValueError:
        return 0.0
    return min(max(seconds, 0.0), LONGEST_PAUSE_SECONDS) if seconds == seconds else 0.0
