"""Finds text in a tool's definition that looks as if it were meant for the model rather than for the task. Pure.

These are heuristics: they warn a person who looks, and decide nothing. What is certain (hidden characters, names no
provider takes) is dealt with elsewhere, whether anybody looks or not. To add one: a row in `RULES`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Literal, cast

from msgspec import Struct

from clawft.policy.definition_texts import parts_of
from clawft.policy.obfuscation import decoded_sentences, mixed_script_word, without_disguise

Severity = Literal["high", "medium", "low"]

LONG_CHARS = 4_000
"""A description above this is more than a task needs."""
EXCERPT_CHARS = 120
MAX_SCANNED_CHARS = 200_000
"""Of one text; what hides behind that much is told by its length."""


class ScanRule(Struct, frozen=True):
    """Patterns look at a bounded stretch of text around fixed words, so none takes more than linear time."""

    name: str
    severity: Severity
    why: str
    pattern: re.Pattern[str]


class Suspicion(Struct, frozen=True):
    rule: str
    severity: Severity
    where: str
    """The member, as in `inputSchema.properties.path.description`."""
    excerpt: str
    why: str


def _rule(name: str, severity: Severity, why: str, pattern: str) -> ScanRule:
    return ScanRule(name, severity, why, re.compile(pattern, re.IGNORECASE))


RULES: tuple[ScanRule, ...] = (
    _rule("hidden-characters", "high", "characters that a person cannot see", r"⟨U\+[0-9A-F]{4,6}⟩"),
    _rule(
        "overrides-instructions",
        "high",
        "tells the model to set other instructions aside",
        r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|all|other|system)\b"
        r"[^.\n]{0,20}\b(?:instruction|prompt|rule|message|direction)s?\b",
    ),
    _rule(
        "overrides-instructions",
        "high",
        "tells the model to set other instructions aside, in another language",
        r"\bignorier\w*[^.\n]{0,30}\b(?:anweisung|instruktion|befehl|regel)\w*|\bignore[rz]?\b[^.\n]{0,20}\binstructions\s+pr[eé]c"
        r"|\bignor[ae]\w*[^.\n]{0,20}\b(?:instrucciones|istruzioni|instruç\w+)\b|игнорир\w*[^.\n]{0,30}инструкци"
        r"|忽略[^。\n]{0,10}(?:指令|指示|提示|说明|規則|规则)|(?:指示|命令)を無視",
    ),
    _rule(
        "hides-from-the-user",
        "high",
        "asks the model to keep something from the person",
        r"\b(?:do not|don't|never|without)\b[^.\n]{0,30}\b(?:tell|mention|inform|notify|show|reveal)(?:ing)?\b"
        r"[^.\n]{0,30}\b(?:user|human|person|anyone)\b|\bsecretly\b|\bsilently (?:send|read|add|include)\b",
    ),
    _rule(
        "marked-as-important",
        "high",
        "a block that speaks to the model in the voice of a system prompt",
        r"<\s*/?\s*(?:important|system|secret|instructions?|admin)\s*>|\[\s*(?:system|inst)\s*\]|\bsystem prompt\b"
        r"|<\|(?:im_start|im_end|system|user|assistant|endoftext)\|>|(?:^|\n)[ \t]{0,20}(?:human|assistant)[ \t]{0,5}:",
    ),
    _rule(
        "wants-secrets",
        "high",
        "names files or values that hold secrets",
        r"(?:~|\$HOME|/home/[^\s/]{1,40}|/root)?/\.(?:ssh|aws|gnupg|kube|netrc|npmrc|clawft)\b|\bid_(?:rsa|ed25519)\b"
        r"|\.cursor/mcp\.json|claude_desktop_config|/etc/(?:passwd|shadow)\b|\bprivate key\b",
    ),
    _rule(
        "hidden-by-blanks",
        "high",
        "text behind so many blanks that nobody scrolls there",
        r"[ \t\u00a0\u2000-\u200a\u3000]{100}[^\s]|(?:\n[ \t\r]{0,20}){20}[^\s]",
    ),
    _rule(
        "hidden-in-a-comment",
        "medium",
        "a comment, which is not shown where text is rendered",
        r"<!--|(?:^|\n)\[(?://|comment|_)\]\s?:",
    ),
    _rule(
        "loads-an-address",
        "medium",
        "a picture or an address that would carry what is filled in to somebody",
        r"!\[[^\]\n]{0,100}\]\(\s?(?:https?:)?//|<img\b[^>\n]{0,200}\bsrc\b"
        r"|https?://[^\s)\"'<>]{1,200}[?&][\w-]{1,40}=(?:\$|\{|<|%s|\[|[A-Z_]{4,20}\b)",
    ),
    _rule(
        "wants-the-conversation",
        "medium",
        "asks for what was said before, or for what the model was told",
        r"\b(?:full|entire|whole|complete)\b[^.\n]{0,30}\b(?:conversation|chat|dialog(?:ue)?|transcript|chat history)\b"
        r"|\b(?:conversation|chat|message) history\b",
    ),
    _rule(
        "sends-elsewhere",
        "medium",
        "asks for something to be sent to an address",
        r"\b(?:send|post|upload|forward|exfiltrate|transmit)\b[^.\n]{0,60}(?:https?://|@[\w-]{1,60}\.\w{2,12}\b)",
    ),
    _rule(
        "comes-first",
        "medium",
        "wants to be called before, after or instead of other tools",
        r"\b(?:before|after|instead of)\b[^.\n]{0,30}\b(?:using|calling|any|every|all)\b[^.\n]{0,30}\btools?\b"
        r"|\b(?:always|must) (?:call|use|run|invoke) this(?: tool)? (?:first|before)\b",
    ),
    _rule(
        "carries-a-payload",
        "medium",
        "a long encoded text that nobody can read",
        r"[A-Za-z0-9+/]{200,4000}={0,2}|(?:\\x[0-9a-f]{2}){20,}",
    ),
    _rule("runs-a-shell", "low", "has a command line in its text", r"\b(?:curl|wget)\b[^\n]{0,80}\|\s*(?:ba)?sh\b"),
)

_WRITES = re.compile(r"(?:^|_|-)(?:delete|remove|drop|write|create|update|send|push|execute|exec|run|kill)(?:$|_|-)")


def scan(definition: Mapping[str, object], others: Collection[str] = ()) -> list[Suspicion]:
    """Everything suspicious in one definition. `others` are the names of tools that other servers offer."""
    found = [one for where, text in _texts(definition) for one in _in_text(where, text, others)]
    return [*found, *_claims(definition)]


def scan_text(text: str, where: str = "") -> Iterator[Suspicion]:
    """Everything suspicious in one text, whatever it belongs to."""
    looked_at = text[:MAX_SCANNED_CHARS]
    yield from _by_rules(where, looked_at)
    yield from _obfuscated(where, looked_at)


def _in_text(where: str, text: str, others: Collection[str]) -> Iterator[Suspicion]:
    yield from scan_text(text, where)
    if len(text) > LONG_CHARS:
        yield Suspicion("long-text", "low", where, f"{len(text)} characters", "longer than a task needs")
    for name in sorted(others):
        if name in text[:MAX_SCANNED_CHARS]:
            why = f"speaks of {name}, which is another server's"
            yield Suspicion("speaks-of-others", "medium", where, name, why)
            return


def _by_rules(where: str, text: str, how: str = "") -> Iterator[Suspicion]:
    """The rules that match; `how` says in which form the text was hidden, if it was."""
    for rule in RULES:
        hit = rule.pattern.search(text)
        if hit is not None:
            yield Suspicion(rule.name, rule.severity, where, _around(text, hit), rule.why + how)


def _obfuscated(where: str, text: str) -> Iterator[Suspicion]:
    if word := mixed_script_word(text):
        yield Suspicion(
            "look-alike-letters", "medium", where, word[:EXCERPT_CHARS], "a word with letters of two scripts"
        )
    bare = without_disguise(text)
    if bare != text:
        known = {one.rule for one in _by_rules(where, text)}
        yield from (one for one in _by_rules(where, bare, ", in disguise") if one.rule not in known)
    for sentence in decoded_sentences(text):
        orders = list(_by_rules(where, sentence, ", encoded"))
        why = "words that are encoded, which a model reads and a person does not"
        yield from orders or [Suspicion("carries-a-payload", "medium", where, sentence[:EXCERPT_CHARS], why)]


def _claims(definition: Mapping[str, object]) -> Iterator[Suspicion]:
    """A tool that says it only reads, by a name that says otherwise."""
    annotations = definition.get("annotations")
    reads = isinstance(annotations, dict) and cast("Mapping[str, object]", annotations).get("readOnlyHint") is True
    name = str(definition.get("name", ""))
    if reads and _WRITES.search(name):
        why = "says it only reads, by a name that says otherwise"
        yield Suspicion("claims-to-read", "medium", "annotations.readOnlyHint", name, why)


def _texts(definition: object) -> Iterator[tuple[str, str]]:
    """Every text in it, names of members included: a model sees them all."""
    for place, part in parts_of(definition):
        yield (place, part) if isinstance(part, str) else (place or "members", " ".join(part))


def _around(text: str, hit: re.Match[str]) -> str:
    """The finding, with a little of its surroundings and … where they are cut."""
    start, end = max(0, hit.start() - 20), hit.end() + 40
    shown = f"{'…' if start else ''}{' '.join(text[start:end].split())}"
    is_cut = end < len(text) or len(shown) > EXCERPT_CHARS
    return shown[: EXCERPT_CHARS - 1] + "…" if is_cut else shown
