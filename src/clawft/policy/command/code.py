"""Finds the commands that a piece of code would run, and the files it would erase, read and write, as far as it says so
in plain words. Pure.

No language is parsed: what counts is a call by which languages run a command, erase a folder or open a file, with the
text that stands behind it. Code that puts its texts together is not seen through.
"""

import re
from collections.abc import Iterator, Mapping

from clawft.policy.command.parsed_command import Command

MAX_WORDS = 16
"""Words of one command that are looked at."""
NEAR = 300
"""Characters between what is loaded and what runs it."""

_RUNS = (
    r"system|popen[234]?|exec(?:Sync|File|FileSync|v|vp|ve|vpe|l|lp|le|lpe|ute)?|spawn(?:Sync|v|vp|l|lp)?|shell_exec"
    r"|passthru|proc_open|call|check_call|check_output|check_run|run|getoutput|getstatusoutput|Popen"
    r"|Command|shell-command|do shell script|PROGRAM"
)
_ERASES = (
    r"rmtree|remove_tree|rm_rf|rm_r|rmSync|rmdirSync|removeSync|emptyDirSync|rimraf|remove_dir_all|RemoveAll|fs\.rm"
    r"|delete_tree|delete-directory"
)
_READS = (
    r"open|File|Path|read_file|readFile|readFileSync|read_text|read_bytes|file_get_contents|fopen|expanduser|slurp"
    r"|readLines|createReadStream"
)
_WRITES = r"writeFile|writeFileSync|appendFile|appendFileSync|file_put_contents|createWriteStream"

_CALL = re.compile(
    rf"(?<![\w-])(?:(?P<runs>{_RUNS})|(?P<erases>{_ERASES})|(?P<reads>{_READS})|(?P<writes>{_WRITES}))(?![\w'-])"
    r"[\s(\[{]{0,8}(?:[\w.]{1,40}\(\s{0,8})?"
    r"|(?P<line>getline\s{0,8}\w{0,40}\s{0,8}<\s{0,8})|(?P<redirected>(?<![=<-])>>?\s{0,8})"
    r"|(?P<piped>(?<!\|)\|&?(?!\|)\s{0,8})|(?P<ticks>(?=`|(?<!\w)(?:qx|%x)\W))",
    re.IGNORECASE,
)
_LITERAL = re.compile(
    r"[rbfuRBFU]{0,2}(?:\"\"\"(?P<a>.*?)\"\"\"|'''(?P<b>.*?)'''"
    r"|\"(?P<c>[^\"\\]*+(?:\\.[^\"\\]*+)*)\"|'(?P<d>[^'\\]*+(?:\\.[^'\\]*+)*)'|`(?P<e>[^`\\]*+(?:\\.[^`\\]*+)*)`)"
    r"|(?:q[qx]?|%[xqQ])\s?(?:\{(?P<f>[^{}]*+)\}|\((?P<g>[^()]*+)\))",
    re.DOTALL,
)
_ASSIGNED = re.compile(r"(?<!\w)([A-Za-z_]\w{0,63})\s{0,8}:?=\s{0,8}(?=[rbfu]{0,2}[\"'`])")
_BETWEEN = re.compile(
    r"(?P<joint>\s{0,8}(?:\+|\.{1,2})?\s{0,8})(?=[rbfu]?[\"'`])|[\s,\[\]{}()]*+(?:args\s{0,8}:\s{0,8}\[\s{0,8})?"
)
_NAMED = re.compile(r"\$?([A-Za-z_]\w{0,63})")
_ESCAPED = re.compile(r"\\([\"'`\\/])")
_OPENED_TO_WRITE = re.compile(r"\s*+,\s*+(?:mode\s*+=\s*+)?[\"'](?:[wax]|r\+|>)")
_INTO_COMMAND = re.compile(r"[\"']\s{0,8}\|&?\s{0,8}getline")

_EVALUATES = re.compile(r"(?<![.\w])(?:exec|eval|system|iex|Invoke-Expression)\b", re.IGNORECASE)
_FETCHES = re.compile(
    r"urlopen|urlretrieve|requests\.get|\bfetch\(|https?\.get|Net::HTTP|LWP::|open-uri|DownloadString|Invoke-WebRequest"
    r"|\birm\b|\biwr\b|file_get_contents\(\s*[\"']https?:"
)
_DECODES = re.compile(
    r"b64decode|decode_base64|base64_decode|\batob\(|unhexlify|fromhex|from\([^()]{0,200}base64|FromBase64String"
    r"|\.unpack\(|\.decompress\("
)
_CONNECTS = re.compile(
    r"socket\.socket\(|TCPSocket|fsockopen\(|IO::Socket|use Socket|\bnet\.(?:connect|Socket|createConnection)"
)
_RUN_TICKS = frozenset({"perl", "ruby", "php"})
_SHELL_FOR_OTHERS = re.compile(
    r"\bdup2\b|pty\.spawn|/bin/(?:ba|da|z)?sh|\bsh(?: -i)? {0,4}[<>]&"
    r"|(?:spawn|exec|popen|proc_open|system)\s{0,4}\(\s{0,4}[\"'](?:ba|da|z)?sh\b"
)
_AWK_SOCKET = re.compile(r"/inet[46]?/(?:tcp|udp)/")
_AWK_READS = re.compile(r"(?<!\w)(\w{1,64})\s{0,8}\|&?\s{0,8}getline")
_AWK_SYSTEM = re.compile(r"\bsystem\s{0,8}\(")


def commands_in(code: str, program: str) -> Iterator[Command | str]:
    """The commands it amounts to; a text is one that a shell would read."""
    for source, pattern in (("curl", _FETCHES), ("base64", _DECODES)):
        if _are_near(_EVALUATES, pattern, code):
            yield Command((program, "-"), fed_by=(Command((source,)),))
    if _are_near(_CONNECTS, _SHELL_FOR_OTHERS, code) or _serves_from_awk(code):
        yield Command(("nc", "-e", "sh"))
    known = {found[1]: text for found in _ASSIGNED.finditer(code) for text in _text_at(code, found.end())}
    at = 0
    while call := _CALL.search(code, at):
        words, at = _words(code, call.end(), known)
        at = max(at, call.start() + 1)
        if words and (call.lastgroup != "ticks" or program in _RUN_TICKS):
            yield from _called(call, words, writes=_OPENED_TO_WRITE.match(code, at) is not None)
    for found in _INTO_COMMAND.finditer(code):
        yield _ending_at(code, found.start())


def _are_near(one: re.Pattern[str], other: re.Pattern[str], code: str) -> bool:
    """As in one thought: in a long script both words may well stand for something else."""
    places = [found.start() for found in other.finditer(code)]
    at = 0
    for found in one.finditer(code) if places else ():
        while at < len(places) - 1 and places[at] < found.start() - NEAR:
            at += 1
        if abs(places[at] - found.start()) <= NEAR:
            return True
    return False


def _serves_from_awk(code: str) -> bool:
    """Whether it reads from a machine, and then runs something or reads from something else that the machine may have
    named.
    """
    if not _AWK_SOCKET.search(code):
        return False
    return _AWK_SYSTEM.search(code) is not None or len(set(_AWK_READS.findall(code))) > 1


def _called(call: re.Match[str], words: list[str], writes: bool) -> Iterator[Command | str]:
    file = words[0].strip("<> ")
    match call.lastgroup:
        case "runs" | "piped" | "ticks":
            yield words[0]
            yield Command(tuple(words))
        case "erases":
            yield Command(("rm", "-r", words[0]))
        case "reads" | "line" if not writes:
            yield Command(("cat", file))
        case _:
            yield Command(writes=(file,))


def _words(code: str, at: int, known: Mapping[str, str]) -> tuple[list[str], int]:
    """The texts that stand here, one behind the other, or the one that a name here was given; where the first ends."""
    words: list[str] = []
    end, joint = at, False
    while len(words) < MAX_WORDS and (literal := _LITERAL.match(code, at)):
        if joint:
            words[-1] += _text(literal)
        else:
            words.append(_text(literal))
        end = literal.end() if len(words) == 1 else end
        between = _BETWEEN.match(code, literal.end())
        at = between.end() if between else literal.end()
        joint = between is not None and between["joint"] is not None
    name = _NAMED.match(code, at) if not words else None
    return ([known[name[1]]], name.end()) if name and name[1] in known else (words, end)


def _text_at(code: str, at: int) -> list[str]:
    literal = _LITERAL.match(code, at)
    return [_text(literal)] if literal else []


def _text(literal: re.Match[str]) -> str:
    return _ESCAPED.sub(r"\1", next(group for group in literal.groups() if group is not None))


def _ending_at(code: str, at: int) -> str:
    quote = code[at]
    start = code.rfind(quote, 0, at)
    return code[start + 1 : at] if start >= 0 else ""
