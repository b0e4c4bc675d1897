"""Settings from the environment, read once. A missing or malformed value stops the start with a sentence."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


class ConfigError(SystemExit):
    """Stops the start; its text says which setting is wrong and what it should be."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a process needs to know before it opens anything. Secrets have no default."""

    secret_key: str
    database_url: str
    vault_files: tuple[Path, ...]
    pass_keys: str  # parsed by boarding/passes, which knows what a pass key is
    demo: bool = False
    secure_cookies: bool = True
    proxy_hops: int = 0
    rate_limit_storage: str = "memory://"
    log_level: str = "INFO"
    pix: Mapping[str, str] = field(default_factory=dict, repr=False)  # parsed by ticketing/payments, which knows banks


def read_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process. Raises ConfigError naming the variable."""
    env = os.environ if environ is None else environ
    demo = _flag(env, "DEMO", False)
    secret = _required(env, "SECRET_KEY", "at least 32 random characters")
    if len(secret) < 32:
        raise ConfigError("SECRET_KEY is too short: give at least 32 random characters.")
    files = tuple(Path(item) for item in _required(
        env, "VAULT_FILE", "the path of the vault file; copies follow, separated by ':'").split(":") if item)
    return Settings(
        secret_key=secret,
        database_url=_database_url(_required(env, "DATABASE_URL", "sqlite:///path or postgresql://…")),
        vault_files=files,
        pass_keys=_required(env, "PASS_KEYS", "ID:BASE64SEED, separated by commas; the last one signs"),
        demo=demo,
        secure_cookies=_flag(env, "SECURE_COOKIES", not demo),
        proxy_hops=_number(env, "PROXY_HOPS", 0, 5),
        rate_limit_storage=env.get("RATE_LIMIT_STORAGE", "memory://"),
        log_level=_choice(env, "LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR")),
        pix={name: value.strip() for name, value in env.items() if name.startswith("PIX_") and value.strip()},
    )


def _required(env: Mapping[str, str], name: str, what: str) -> str:
    value = env.get(name, "").strip()
    if not value:
        raise ConfigError(f"{name} is not set: it takes {what}. See docs/operations.md.")
    return value


def _database_url(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    drivers = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg",
               "postgresql+psycopg": "postgresql+psycopg"}
    if not separator or scheme not in drivers:
        raise ConfigError("DATABASE_URL must begin with sqlite:/// or postgresql://.")
    return f"{drivers[scheme]}://{rest}"


def _flag(env: Mapping[str, str], name: str, default: bool) -> bool:
    value = env.get(name, "1" if default else "0")
    if value not in ("0", "1"):
        raise ConfigError(f"{name} must be 0 or 1, not {value!r}.")
    return value == "1"


def _number(env: Mapping[str, str], name: str, default: int, largest: int) -> int:
    value = env.get(name, str(default))
    if not (value.isascii() and value.isdigit()) or int(value) > largest:
        raise ConfigError(f"{name} must be a number from 0 to {largest}, not {value!r}.")
    return int(value)


def _choice(env: Mapping[str, str], name: str, default: str, choices: tuple[str, ...]) -> str:
    value = env.get(name, default)
    if value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}, not {value!r}.")
    return value
