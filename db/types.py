"""Column types that keep what SQLite or PostgreSQL would lose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, Double, LargeBinary, String
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine, UserDefinedType

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Float32s = npt.NDArray[np.float32]
    Float64s = npt.NDArray[np.float64]
else:
    Float32s = Float64s = Any  # SQLModel reads annotations; numpy is loaded with the first array

Json = JSON().with_variant(JSONB(), "postgresql")


class Text(TypeDecorator[str]):
    """Text from anywhere: what no database stores (NUL, half of a surrogate pair) is replaced, in
    values and in searches alike."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return (
            None
            if value is None
            else value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
        )


class _SqliteReal(UserDefinedType[Any]):
    """A column that keeps values as they are bound; one declared REAL would store -0.0 as the
    integer 0."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "BLOB"


class Real(TypeDecorator[float]):
    """A float64 that survives exactly, negative zero, NaN and infinity included.

    SQLite turns a bound NaN into NULL; its dynamic typing allows the text 'nan' among the numbers
    instead.
    """

    impl = Double
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(_SqliteReal() if dialect.name == "sqlite" else Double())

    def process_bind_param(self, value: float | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        return "nan" if dialect.name == "sqlite" and math.isnan(value) else float(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> float | None:
        return None if value is None else float(value)

    def compare_values(self, x: Any, y: Any) -> bool:
        # -0.0 in place of 0.0 is a change, NaN in place of NaN is none
        return x is y or (x is not None and y is not None and float(x).hex() == float(y).hex())


class _Array(TypeDecorator[Any]):
    """A vector packed as little-endian bytes: exact, and one row for thousands of values."""

    impl = LargeBinary
    cache_ok = True
    dtype = "<f4"

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes | None:
        import numpy as np

        return None if value is None else np.ascontiguousarray(value, dtype=self.dtype).tobytes()

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Any:
        import numpy as np

        return None if value is None else np.frombuffer(value, dtype=self.dtype)

    def compare_values(self, x: Any, y: Any) -> bool:
        # by their bits: -0.0 in place of 0.0 is a change, NaN in place of the same NaN is none
        return x is y or (x is not None and y is not None and x.tobytes() == y.tobytes())


class Float32Array(_Array):
    """A vector of float32."""

    cache_ok = True


class Float64Array(_Array):
    """A vector of float64."""

    cache_ok = True
    dtype = "<f8"
