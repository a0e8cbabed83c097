"""What looks like a secret in a program's output and values is not sent to a model. What users read themselves (strobe
run, Python, exports) stays as it was.

A pattern takes what is hardly ever anything else: the forms of well-known services, private keys, passwords of URLs,
variables of the environment, texts of variables that are called so.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strobe.config import SETTINGS_FILE, load_settings

if TYPE_CHECKING:
    from re2 import _Regexp as Regex

HIDDEN = "<redacted>"
_NAMES = (
    "password|passwd|passphrase|secret|secret_?key|secret_?access_?key|api[_-]?key|access_?token|auth_?token|"
    "refresh_?token|session_?token|private_?key"
)
_VARIABLES = "PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY|CREDENTIALS"

# In RE2's syntax: what stays before the secret, and behind it, is in groups. Quotes may be escaped, as in JSON.
_PATTERNS = {
    "private key": r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)(?:[A-Za-z0-9+/=:,\s]|-[A-Z0-9]|\\+[nr]){16,}(-----END|)",
    "AWS key": r"()\b(?:AKIA|ASIA)[0-9A-Z]{16}\b()",
    "AWS secret": r"((?i:secret_?access_?key)\s*[=:]\s*)[A-Za-z0-9/+]{40}()",  # as its file of credentials has it
    "GitHub token": r"()\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})\b()",
    "GitLab token": r"()\bglpat-[A-Za-z0-9_-]{20,255}()",
    "Slack token": r"()\bxox[abeprs]-[A-Za-z0-9-]{10,255}()",
    "Google key": r"()\bAIza[0-9A-Za-z_-]{35}()",
    "Stripe key": r"()\b[rs]k_(?:live|test)_[0-9A-Za-z]{16,255}\b()",
    "API key": r"()\bsk-[A-Za-z0-9_-]{20,255}()",
    "JSON web token": r"()\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*()",
    "authorization": r"((?i:\bauthorization\\?\"?\s*[:=]\s*\\?\"?(?:bearer|basic|token)\s+))[A-Za-z0-9._~+/=-]{8,}()",
    "key in a header": r"((?i:\bx-api-key:\s*))[A-Za-z0-9._~+/=-]{8,}()",
    "password of a URL": r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"\\]{0,100}:)[^\s/@\"\\]{1,200}(@)",
    "environment": rf"(\b[A-Z0-9_]*(?:{_VARIABLES})=\\?[\"']?)[^\s\"'\\,;<>]{{6,500}}()",
    "password": rf"((?i:(?:{_NAMES}))\\?\"?\s*[=:]\s*(?:\\?\")+)[^\"\\]{{1,500}}(\\?\")",
}
# Where none of these stands, none of the patterns matches.
_MARKS = (
    r"PRIVATE KEY|AKIA|ASIA|gh[pousr]_|github_pat_|glpat-|xox|AIza|[rs]k_(?:live|test)_|sk-|eyJ|://|"
    rf"{_VARIABLES}|(?i:authorization|{_NAMES})"
)
_NAME = rf"(?i:{_NAMES})\z"
# Of an object in an answer: where it says what it is of, where it has values, where else it has texts
_TITLES, _VALUES, _PLACES = ("name", "target", "what"), ("value", "here", "there"), ("id", "pointer")


class Redaction:
    """The patterns, compiled; `settings`: the file that switches them off. For several threads at once."""

    def __init__(self, settings: Path) -> None:
        import re2  # a library of its own, that few commands need

        self._settings = settings
        self._marks: Regex = re2.compile(_MARKS.encode())
        self._name: Regex = re2.compile(_NAME)
        self._patterns: dict[str, Regex] = {kind: re2.compile(text) for kind, text in _PATTERNS.items()}

    def is_marked(self, data: bytes) -> bool:
        """Whether there may be a secret in it. UTF-8."""
        return self._marks.search(data) is not None

    def answer(self, answer: dict[str, Any], group_by: object = ()) -> dict[str, Any]:
        """A tool's answer without its secrets, of which it says how many there are. `group_by`: what the values of its
        groups are of."""
        found = Counter[str]()
        shown: dict[str, Any] = self._value(answer, found)
        names = [group_by] if isinstance(group_by, str) else group_by if isinstance(group_by, list) else []
        for row in shown.get("groups", ()) if any(map(self._is_secret, names)) else ():
            row["value"] = self._hidden(row["value"], found)
        if found:
            kinds = ", ".join(f"{count} x {kind}" if count > 1 else kind for kind, count in found.items())
            shown["redacted"] = (
                f'{kinds}: texts that look like secrets. {{"mcp.redact": 0}} in {self._settings} shows them.'
            )
        return shown

    def text(self, text: str, found: Counter[str]) -> str:
        """The text without its secrets, which are counted by kind."""
        if not self.is_marked(text.encode(errors="replace")):
            return text
        text = text.encode(errors="replace").decode()  # without lone surrogates, which RE2 does not take
        for kind, pattern in self._patterns.items():
            text, count = pattern.subn(lambda match: f"{match.group(1)}{HIDDEN}{match.group(2)}", text)
            if count:
                found[kind] += count
        return text

    def _value(self, value: Any, found: Counter[str]) -> Any:
        """Also without texts whose name says what they are."""
        if isinstance(value, str):
            return self.text(value, found)
        if isinstance(value, list | tuple):
            return [self._value(item, found) for item in value]
        if not isinstance(value, dict):
            return value
        is_secret = any(self._is_secret(value.get(title)) for title in _TITLES)
        shown = {}
        for name, item in value.items():
            if (is_secret and name in _VALUES) or (isinstance(item, str) and self._is_secret(name)):
                shown[name] = self._hidden(item, found)
            else:
                shown[name] = self._value(item, found)
        return shown

    def _is_secret(self, name: object) -> bool:
        return isinstance(name, str) and self._name.search(name) is not None

    def _hidden(self, value: Any, found: Counter[str]) -> Any:
        """Without any text, but the names that it has."""
        if isinstance(value, list | tuple):
            return [self._hidden(item, found) for item in value]
        if isinstance(value, dict):
            return {name: item if name in _PLACES else self._hidden(item, found) for name, item in value.items()}
        if not isinstance(value, str) or value in ("", HIDDEN):
            return value
        found["password"] += 1
        return HIDDEN


_made: list[Redaction] = []  # when it is needed


def redaction_of(home: str) -> Redaction | None:
    """None where the settings of the home switch it off."""
    if not load_settings(None, Path(home))[0].mcp_redact:
        return None
    if not _made:
        _made.append(Redaction(Path(home) / SETTINGS_FILE))
    return _made[0]


def redacted(text: str, home: str) -> str:
    """A text that is no tool's answer, without its secrets."""
    redaction = redaction_of(home)
    return text if redaction is None else redaction.text(text, Counter())
