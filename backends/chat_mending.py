"""Takes the bad lines out of a saved chat, once the file as it was is kept.

Promises that nothing is lost: the original is copied beside it byte for byte, and the name means
the old file until the new one is whole.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from nextok.backends.chat_reading import Reading
from nextok.backends.chat_records import header
from nextok.backends.draft_file import Draft, sync, write_all

_BLOCK = 1 << 20


def mended(path: Path, descriptor: int, reading: Reading) -> tuple[int, Path]:
    """A locked descriptor of the new file, and the path of the backup. Raises OSError.

    descriptor: of the old file, which was read with bad lines.
    """
    with Draft(path) as draft:
        if not reading.has_header:
            draft.write(header(os.fstat(descriptor).st_mtime))
        for start, end in reading.good_spans:
            for block in _blocks(descriptor, start, end):
                draft.write(block)
        backup = _back_up(descriptor, path)
        try:
            draft.settle()
        except OSError:
            backup.unlink(missing_ok=True)
            raise
        return draft.detach(), backup


def _blocks(descriptor: int, start: int, end: int) -> Iterator[bytes]:
    while start < end and (block := os.pread(descriptor, min(_BLOCK, end - start), start)):
        yield block
        start += len(block)


def backups(path: Path) -> Iterator[Path]:
    """Those that `mended` has left beside a chat."""
    for number in itertools.count():
        backup = path.with_name(f"{path.name}.bak{number or ''}")
        if not backup.exists():
            return
        yield backup


def _back_up(descriptor: int, path: Path) -> Path:
    """Copy it all to NAME.bak, or if there is one to NAME.bak1 and so on."""
    for number in itertools.count():
        backup = path.with_name(f"{path.name}.bak{number or ''}")
        with suppress(FileExistsError):
            copy = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            break
    try:
        for block in _blocks(descriptor, 0, os.fstat(descriptor).st_size):
            write_all(copy, block)
        sync(copy)
    except OSError:
        backup.unlink(missing_ok=True)
        raise
    finally:
        os.close(copy)
    return backup
