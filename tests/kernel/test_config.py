"""A missing or malformed setting stops the start with a sentence that names it and never repeats a secret."""

from pathlib import Path

import pytest

from kernel.config import ConfigError, read_settings

WHOLE = {"SECRET_KEY": "s" * 32, "DATABASE_URL": "sqlite:///var/x.db", "VAULT_FILE": "one.vault:two/other.vault",
         "PASS_KEYS": "1:AAAA"}


def test_a_whole_environment_is_read():
    settings = read_settings(WHOLE)
    assert settings.vault_files == (Path("one.vault"), Path("two/other.vault"))
    assert (settings.demo, settings.secure_cookies, settings.proxy_hops, settings.log_level) == (False, True, 0, "INFO")


@pytest.mark.parametrize("name", sorted(WHOLE))
@pytest.mark.parametrize("value", [None, "", "   "])
def test_a_missing_setting_is_named(name, value):
    env = {key: text for key, text in {**WHOLE, name: value}.items() if text is not None}
    with pytest.raises(ConfigError, match=f"{name} is not set"):
        read_settings(env)


@pytest.mark.parametrize(("name", "value"), [
    ("SECRET_KEY", "s" * 31), ("DATABASE_URL", "mysql://x"), ("DATABASE_URL", "var/x.db"), ("DEMO", "yes"), ("DEMO", ""),
    ("SECURE_COOKIES", "true"), ("PROXY_HOPS", "6"), ("PROXY_HOPS", "-1"), ("PROXY_HOPS", "one"), ("PROXY_HOPS", "²"),
    ("LOG_LEVEL", "debug")])
def test_a_malformed_setting_is_named(name, value):
    with pytest.raises(ConfigError, match=name) as stopped:
        read_settings({**WHOLE, name: value})
    assert "s" * 31 not in str(stopped.value)


@pytest.mark.parametrize(("url", "read"), [
    ("sqlite:///x.db", "sqlite:///x.db"), ("postgres://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
    ("postgresql://u:p@h/d", "postgresql+psycopg://u:p@h/d"), ("postgresql+psycopg://h/d", "postgresql+psycopg://h/d")])
def test_a_database_address_names_its_driver(url, read):
    assert read_settings({**WHOLE, "DATABASE_URL": url}).database_url == read


@pytest.mark.parametrize(("env", "secure"), [({}, True), ({"DEMO": "1"}, False), ({"DEMO": "1", "SECURE_COOKIES": "1"}, True)])
def test_cookies_are_secure_unless_it_is_a_demonstration(env, secure):
    assert read_settings({**WHOLE, **env}).secure_cookies is secure
