"""What sessions share of one version of the runs, forgotten as a whole when anything changes.

Caches that know versions as keys keep earlier ones, 20 MB each with ten thousand runs.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")
ENTRIES = 16  # the rest is built again; 3 MB each with ten thousand runs


class Made:
    """Keep it in a cache of one entry whose key is the version.

    Do not modify what you get: all sessions share it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # to build one thing may need another
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()

    def of(self, key: Hashable, build: Callable[[], T]) -> T:
        """What `build` gave for this `key`. One session at a time builds anything."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = build()
            self._kept.move_to_end(key)
            while len(self._kept) > ENTRIES:  # that was asked for least recently
                self._kept.popitem(last=False)
            return self._kept[key]  # type: ignore[no-any-return]
