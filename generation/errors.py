"""One tree of errors. Each is raised where the fact is known, its message one line that says
what is wrong and what to do next; the command line turns it into an exit code, once.

    NextokError
    ├── UsageError      a bad flag, value or prompt, said before a model is loaded
    ├── ModelError      a file that cannot be used as a model
    ├── TemplateError   a chat template that cannot be rendered
    ├── EngineError     the engine refused or failed
    ├── OutputError     standard output cannot take the answer
    ├── HubError        a model cannot be fetched from the hub
    └── ContextError    the prompt does not fit into the context
"""


class NextokError(Exception):
    """The root: whatever nextok itself has to say to a user."""


class UsageError(NextokError):
    """The command was given something it cannot take."""


class ModelError(NextokError):
    """The file is missing, damaged, or no text-generation model."""


class TemplateError(NextokError):
    """The chat template is broken, refused the messages, or does not end."""


class EngineError(NextokError):
    """The engine refused a call, or its numbers are not numbers."""


class OutputError(NextokError):
    """The answer cannot be written: disk full, stream closed."""


class HubError(NextokError):
    """The hub refused, cannot be reached, or sent what cannot be kept."""


class ContextError(NextokError):
    """The prompt has more tokens than the context holds."""
