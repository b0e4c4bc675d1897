"""Settings for a demonstration on one machine: made once with fresh secrets, beaten by the environment.

`python -m demo.settings COMMAND …` runs a command under them. A real installation sets its own: docs/operations.md.
"""

import base64
import os
import secrets
import sys
from pathlib import Path

FILE = Path("var/demo.env")


def fresh_settings() -> dict[str, str]:
    """New secrets, the embedded database, and the vault file beside the data folder, never inside it."""
    return {
        "SECRET_KEY": secrets.token_urlsafe(48),
        "PASS_KEYS": f"1:{base64.b64encode(secrets.token_bytes(32)).decode()}",
        "VAULT_FILE": "./embarque.vault",
        "DATABASE_URL": "sqlite:///var/embarque.db",
        "DEMO": "1",
    }


def settings_of(file: Path) -> dict[str, str]:
    """What the file says, after writing it (for its owner's eyes alone) where there is none."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{name}={value}\n" for name, value in fresh_settings().items())
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as handle:
            handle.write(text)
    pairs = (line.split("=", 1) for line in file.read_text().splitlines() if "=" in line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, value in pairs}


def main() -> None:
    """Become the command named in the arguments, with the demonstration's settings where none are set."""
    os.umask(0o077)  # the database and the vault are for their owner's eyes alone
    for name, value in settings_of(FILE).items():
        os.environ.setdefault(name, value)
    if command := sys.argv[1:]:
        os.execvp(command[0], command)  # noqa: S606  no shell: the arguments are the Makefile's own


if __name__ == "__main__":
    main()
