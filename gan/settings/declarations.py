"""What a setting declares about itself."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, cast

from pydantic import Field
from pydantic.fields import FieldInfo

# What changes with a setting: the weights at a given step; only what the run ends with or how it is
# evaluated; or only what is recorded on the way
Affects = Literal["weights", "result", "records"]


@dataclass(frozen=True)
class Setting:
    """What is known about a setting beside its type, default, limits and description."""

    group: str
    unit: str = ""
    label: str = ""  # on forms, where the name alone reads badly
    short: str = ""  # in names of runs, where the name is too long
    when: tuple[Any, ...] = ()  # (other setting, values...) with which alone it has an effect
    unless: tuple[Any, ...] = ()  # (other setting, values...) with which it has none
    affects: Affects = "weights"
    speed: bool = False  # whether the seconds per image depend on it
    self_explanatory: bool = False  # whether its values need no name beside them
    identifies: bool = False  # whether digests name it even at its default
    study: str = ""  # what another value than the study's means for a comparison with it

    def has_effect(self, values: Mapping[str, Any]) -> bool:
        """Whether it has an effect beside these values of other settings."""
        if self.when and values[self.when[0]] not in self.when[1:]:
            return False
        return not (self.unless and values[self.unless[0]] in self.unless[1:])


def setting(
    default: Any,
    group: str,
    description: str,
    *,
    unit: str = "",
    label: str = "",
    short: str = "",
    when: tuple[Any, ...] = (),
    unless: tuple[Any, ...] = (),
    affects: Affects = "weights",
    speed: bool = False,
    self_explanatory: bool = False,
    identifies: bool = False,
    study: str = "",
    **limits: Any,
) -> Any:
    """A field of `RunConfig`: its default, what `Setting` holds, and pydantic's `limits`."""
    about = Setting(
        group, unit, label, short, when, unless, affects, speed, self_explanatory, identifies, study
    )
    extra = cast(Any, {"setting": about})
    return Field(default, description=description, json_schema_extra=extra, **limits)


def inherited(field: FieldInfo, default: Any) -> Any:
    """The same declaration with another default, for a class that inherits the field."""
    info = copy(field)
    info.default = default
    return info


def declared(info: FieldInfo) -> Setting:
    """What `setting` was given for a field."""
    return cast(Setting, cast(Any, info.json_schema_extra)["setting"])


def same(one: FieldInfo, other: FieldInfo | None) -> bool:
    """Whether two classes have a setting from one declaration: pydantic copies the fields that a
    class inherits."""
    return other is not None and declared(one) is declared(other)
