"""Where values of the environment come from, and the error for what cannot be used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic_settings import PydanticBaseSettingsSource

PREFIX = "GANBOARD_"
SECRET_BYTES = 65_536  # of a file that holds one value


class SettingsError(ValueError):
    """The environment cannot be used; the message is one sentence with the remedy, on one line
    whatever the variables hold."""

    def __init__(self, sentence: str) -> None:
        super().__init__("".join(c if c.isprintable() else repr(c)[1:-1] for c in sentence))


class SecretFiles(PydanticBaseSettingsSource):
    """`GANBOARD_X_FILE` names a file that holds the value of `GANBOARD_X`, so that no secret is in
    the environment."""

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        path = os.environ.get(f"{PREFIX}{field_name.upper()}_FILE")
        if not path:
            return None, field_name, False
        try:
            with Path(path).open("rb") as file:
                secret = file.read(SECRET_BYTES + 1)
            if len(secret) > SECRET_BYTES:  # a device never ends
                raise SettingsError(
                    f"{PREFIX}{field_name.upper()}_FILE={path} has more than {SECRET_BYTES:,}"
                    " bytes. It must contain a single value."
                )
            return secret.decode().strip(), field_name, False
        except OSError as error:
            raise SettingsError(
                f"{PREFIX}{field_name.upper()}_FILE={path} cannot be read: {error.strerror}."
            ) from None
        except UnicodeDecodeError:
            raise SettingsError(
                f"{PREFIX}{field_name.upper()}_FILE={path} is not a text file in UTF-8."
            ) from None

    def __call__(self) -> dict[str, Any]:
        values = {
            name: self.get_field_value(field, name)[0]
            for name, field in self.settings_cls.model_fields.items()
        }
        return {name: value for name, value in values.items() if value is not None}
