"""What was true when the process started, and is not to be found out later."""

from typing import NamedTuple


class Start(NamedTuple):
    """The beginning of this process."""

    at: float
    """When, in `time.monotonic` seconds: deadlines and the time to the first byte count from it."""
    stdin_closed: bool = False
    """Standard input was closed; it is /dev/null now, lest a model file becomes it."""
    stdout_closed: bool = False
    stderr_closed: bool = False
