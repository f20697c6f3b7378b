"""The stores that the tests of this folder use."""

from tests.stores import s3, url

__all__ = ["s3", "url"]
