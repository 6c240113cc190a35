//! Estimates whether a line names a failure, by the common forms of messages of compilers, test runners, package
//! managers, interpreters, shells and crashes.

use std::{borrow::Cow, sync::LazyLock};

use regex::bytes::Regex;

use super::lines;

/// How likely a line names a failure; 0 is not at all.
pub(super) type Weight = u8;

/// The line says that something failed, and usually what.
pub(super) const NAMING: Weight = 6;
/// A text with such a line reports a failure.
pub(super) const REPORTING: Weight = 4;
/// The line belongs to a report, or mentions failures in passing.
pub(super) const MENTIONING: Weight = 2;

/// Only the beginning of longer lines is examined, in bytes.
const MAX_LOOKED_AT: usize = 1024;

/// A text without any of these words reports no failure: a cheap test for a whole text.
static STEMS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i-u)err|exception|fail|fatal|panic|critical|severe|traceback|assert|expect|fault|abort|kill|dump|cannot|",
        r"can't|could ?n[o']t|unable|denied|refused|reset|invalid|illegal|missing|not |no |n't|un(?:caught|handled|defined|declared|resolved|",
        r"known|expected|supported|reachable|terminated|closed|authorized)|overflow|corrupt|exit|died|crash|conflict|mismatch|timed? ?out|",
        r"violat|terminat|already|multiple def|duplicate|redef|redecl|ambiguous|deadlock|signal|sig[a-z]{3}|memory|what\(\)|✗|✘|✖|×|❌|●|level|\bE |",
        r"out of|double free|use-after|data race|division by|divide by|null ?pointer|too (?:few|many|large|long|short|deep)|must |bad |broken|wrong|problem|expired|forbidden|reject|refus|",
        r"never |unused|unmet|unclosed|unbalanced|incompat|implicit|recursion|nesting|read-?only|overwritten|integrity|checksum|want|interrupt|stopiteration|systemexit|vulnerab|return|received|actual|caused|\bE[A-Z]{4,}",
    ))
    .ok()
});

/// Forms that name a failure.
static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?x-u)",
        // error: …   error[E0308]: …   error TS2322: …   fatal error: …   Error (code 3): …
        r"(?:^|[^\w.\-/])(?i:fatal|error|panic|critical|severe)(?:\s*\[[^\]\s]{1,60}\]|\s*\([^()]{1,60}\)|\s+[A-Z]{1,8}-?\d{1,6}|\s+\d{1,6}(?:\s\([^()]{1,20}\))?)?\s*[\])]?:(?:\s|$)|",
        // ERROR …   [FATAL] …   npm ERR! …
        r"(?:^|[\s\[(|:])(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC|EMERG|ALERT|ERR!?|CRIT)(?:[\s\])|:!]|$)|",
        // level=error   {"level":"error"
        r#"(?i:\blevel["']?\s*[=:]\s*["']?(?:error|fatal|critical|crit|panic|alert|emerg|50\b|60\b))|"#,
        // npm error …   Error at …   CMake Error at …   ! LaTeX Error
        r"^[\w.\-]+:?\s+(?i:error|fatal|panic)(?:\s|:|!|$)|^\W{0,6}(?:[A-Z]\w*\s)?(?:Error|Failure|Exception)(?:\s(?:at|in|from|on|while|when|during|reading|loading|parsing|opening|executing|running|creating|code|\d)|/\w|\s*$)|",
        // main.js  3:7  error  …
        r"^\s*\d+:\d+\s+(?i:error)\s|",
        // ValueError: …   java.lang.NullPointerException   (NoMethodError)   ** (RuntimeError)
        r"\b\w*[a-z](?:Error|Exception|Fault|Panic|Violation)\b(?:\s*\[[\w\-]+\]|\s*\([^()]{0,60}\))?(?::(?:\s|$)|\s*$|\s-\s|\)|\sin\s|\sat\s)|",
        r"\b(?:KeyboardInterrupt|StopIteration|SystemExit|RecursionError|MemoryError|OutOfMemoryError|StackOverflowError)\b|",
        // crashes
        r"(?i:\b(?:segmentation\sfault|segfault|bus\serror|core\sdumped|stack\soverflow|stack\ssmashing|stack-overflow|heap-\w+-\w+|use-after-free|double\sfree|",
        r"buffer\soverflow|out\sof\smemory|heap\sout\sof|oom-?kill\w*|illegal\sinstruction|floating\spoint\sexception|breakpoint\strap|panicked\sat|",
        r"uncaught|unhandled|unrecoverable|terminate\scalled|terminating\s(?:due|with)|received\ssignal|SIG(?:SEGV|ABRT|BUS|ILL|FPE|KILL|SYS|TRAP)|",
        r"maximum\scall\sstack|call\sstack\ssize|invalid\s(?:read|write|free|pointer|next\ssize|size|chunk|opcode|memory)|corrupted|memory\sleak|definitely\slost|",
        r"data\srace|deadlock|runtime\serror|division\sby\szero|divide\sby\szero|index\sout\sof|out\sof\s(?:range|bounds)|null\s?pointer|",
        r"assert(?:ion)?\b.{0,300}\bfail(?:ed|ure)|assert(?:ion)?\sfail(?:ed|ure)|assertion\serror)\b)|^(?:\[\d+\]\s+)?Killed\b|\bKilled$|^Abort(?:ed)?\b|\bAborted$|^panic\b|",
        // compilers, linkers, interpreters
        r"(?i:\b(?:undefined\s(?:reference|method|variable|name|local|symbol|identifier|function|type|index|constant|array|offset|property)|",
        r"multiple\sdefinition|duplicate\s(?:symbol|definition|identifier|key|entry|case|declaration|class)|unresolved\s(?:external|import|symbol|reference|module|name|dependenc\w+)|syntax\serror|parse\serror|",
        r"undeclared|not\sdeclared|declared\sand\snot\sused|imported\sand\snot\sused|redefinition\sof|redeclared|conflicting\stypes|incompatible\s(?:types?|pointer|version|peer|engine)|mismatched\s(?:types?|tag)|",
        r"type\smismatch|is\snot\s(?:defined|a\sfunction|a\sconstructor|recognized|installed|assignable|callable|iterable|subscriptable|bound|in\s(?:std|goroot|the\snpm)|a\smember|a\smodule|a\stype|a\svalid|allowed|permitted|supported|a\sgit|found|valid|exported|used|implemented|constructible|compatible)|",
        r"has\sno\s(?:member|attribute|field|property|method|exported|default|element|function|parameter|such)|missing\s(?:return|semicolon|separator|operator|terminator|required|argument|module|dependenc\w+|peer|package|script|parenthes\w+|bracket|close|end|import|operand|field|parameter|key)|",
        r"unexpected\s(?:token|end|indent|eof|character|string|identifier|keyword|symbol|number|argument|operator|newline|value|input|status|response|eof|close|type|return|failure|error|`|')|unterminated|unclosed|unbalanced|expected\san?\s|expected\s(?:'|`|‘)|invalid\s(?:syntax|token|character|argument|option|operand|literal|type|value|identifier|escape|regular|regex|json|url|number|name|conversion|config\w*|input|use|version|package|assignment|preprocessing|suffix|initializer|parameter|key|date|format|base|flag|usage|command)|",
        r"unknown\s(?:option|argument|command|flag|type|function|module|directive|property|host|field|table|column|database|key|identifier|keyword|error|escape|attribute|symbol|variable|target|compiler|package|name|warning|file|format|user|revision|switch|subcommand|encoding|conversion)|unrecognized|unsupported|",
        r"cannot\s\w+|can(?:'|’)t\s\w+|can\snot\s\w+|could\s(?:not|n't)\s\w+|couldn(?:'|’)t\s\w+|unable\sto|failed\s(?:to|with|at|on|in|for|because|due)|failed:|fails?\sto|failure:|no\ssuch|",
        r"no\s(?:matching|rule\sto|module\snamed|space\sleft|route\sto|targets?\s(?:specified|found)|tests?\s(?:found|ran|were|matched)|default\s(?:value|export)|candidates?|overload|versions?|package|input\sfiles?|member\snamed|viable|method|field|table|implicit|files?\s(?:matched|found)|input|main|loader|script|command|configuration|handler)|",
        r"does\s(?:not|n't)\s(?:exist|match|have|appear|implement|contain|support|provide|compile|satisfy|take|return|define)|doesn(?:'|’)t\s(?:exist|match|have)|did\snot\s(?:match|exit|complete|contain|conform|resolve)|not\sfound|not\sa\sgit|not\sallowed|not\spermitted|no\slonger\sexists|not\sin\sscope|already\s(?:exists|in\suse|defined|declared)|",
        r"(?:permission|access)\s(?:is\s)?denied|operation\snot\spermitted|connection\s(?:refused|reset|timed|closed|aborted|failed)|timed\sout|timeout\s(?:of|exceeded|after|waiting|expired)|deadline\sexceeded|broken\spipe|bad\s(?:substitution|file|request|gateway|interpreter|fd|address|option|array|magic|decrypt|number|operand|state|marshal|command|char|flag|credentials)|",
        r"merge\sconflict|conflict\s\(|conflicts?\s(?:with|found|in)|unmet\s|violates?|violation|constraint\sfailed|integrity|checksum\s\w*\s?mismatch|hash\smismatch|(?:version|size|type|digest|signature)\smismatch|must\s(?:be|have|not|return|implement|specify|match|appear|provide)\b|",
        r"died\sat|too\s(?:few|many|large|long|short|deep)\b|not\senough\s|nesting|ambiguous|recursion|would\sbe\soverwritten|rejected|refusing\sto|unauthorized|forbidden|expired|is\sread-?only|read-only\sfile|never\s(?:used|read)|unused\s(?:variable|import|function|parameter|argument)|implicit\sdeclaration|deprecated\sand\sremoved)\b)|",
        r"\bwhat\(\):|",
        // tests
        r"^\s*(?:not\sok\b|---\sFAIL|FAIL\b|FAILED\b|(?:✗|✘|✖|×|❌)|●\s|\(fail\)|E\s{2,}\S|\[\s+FAILED\s+\])|\bFAILED\b|\bFAIL:|<<<\s(?:FAILURE|ERROR)|\*\*\*Failed|\(Failed\)|:\sFailure$|",
        r"(?i:\bexpected\b.{0,200}\b(?:but|got|to\s(?:be|equal|have|contain|match|throw|include|deeply|strictly)|received|was|found|instead|actual|values)\b|\bgot\b.{0,120}\bwant|\bwant\b.{0,120}\bgot|assert\w*\s.{0,80}(?:==|!=|is\s|not\s)|values?\sto\sbe\b|expect\(.{0,80}\)\.)|",
        // builds and processes
        r"\*\*\*\s\[|(?i:\bbuild\sfail|\bbuild\sstopped|\bcompilation\s(?:failed|terminated|aborted)|\bexit(?:ed)?\s(?:with\s)?(?:code|status|value|error)?:?\s?[1-9]|\bexit\s(?:code|status)\s?[:=]\s?[1-9]|returned\s(?:a\s)?non-?zero|returned\s(?:exit\s(?:code|status)\s)?[1-9]\d*\b|lifecycle\sscript)"
    ))
    .ok()
});

/// Totals, such as the number of failed tests.
static TOTALS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i-u)\b[1-9]\d*\s+(?:\w+\s+){0,2}(?:errors?|failed|failures?|failing|problems?|vulnerabilit\w+|broken|crashed)\b|",
        r"\b(?:errors?|fail(?:ed|ures?)?|failing)\b\s*[:=(]?\s*[1-9]\d*\b",
    ))
    .ok()
});

/// `main.go:3:5: …`, `src/a.ts(3,5): …`, `at main.c line 3`
static LOCATED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?x-u)^\s*(?:[\w]+:\s)?(?:[A-Za-z]:)?[\w@./\\+\-]*\w\.\w{1,12}(?::\d+(?::\d+)?(?:-\d+(?::\d+)?)?:?|\(\d+(?:,\d+)?\):?)\s+\S|\bline\s\d+\b|\bat\s\S+\sline\s\d+|\sin\s\S+:\d+$").ok()
});

/// Words about failures.
static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i-u)\b(?:fail(?:ed|s|ure|ures|ing)?|errors?|errno|exception|invalid|missing|unexpected|mismatch(?:ed)?|refused|denied|",
        r"rejected|time[ds]? ?out|aborted|abort|killed|terminated|crash(?:ed)?|conflicts?|unknown|unsupported|not found|broken|illegal|overflow|",
        r"unreachable|problem|fatal|panic|wrong|bad|expected|received|actual|traceback|caused by|e[a-z]{2,}: )\b|\bE(?:NOENT|ACCES|CONN\w+|ADDR\w+|PERM|EXIST|PIPE|TIMEDOUT|NOTDIR|ISDIR|MFILE|RESOLVE|401|403|404|INVAL|BUSY)\b",
    ))
    .ok()
});

/// Texts that look like failures but are none.
static NONE_FAILED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i-u)\b(?:0|no|zero|without(?:\sany)?|any)\s+(?:\w+\s+)?(?:errors?|failures?|failed|fail|failing|warnings?|problems?|vulnerabilities|conflicts?|issues?|exceptions?)\b|",
        r"\b(?:errors?|fail(?:ed|ures?|ing)?|crash(?:ed|es)?|skipped|rejected|timeouts?|conflicts?)\b[\x22']?\s*[:=]\s*(?:0\b|none\b|null\b|false\b|\[\]|nil\b)|",
        r"\bexit(?:ed)?\s(?:with\s)?(?:code|status)\s?[:=]?\s?0\b",
    ))
    .ok()
});

/// Log levels below error, or passed tests.
static HARMLESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r#"(?-u)(?:^|[\s\[(|"'=:])(?:INFO|DEBUG|TRACE|VERBOSE|NOTICE|PASS|PASSED|OK|DBG|INF|VRB)(?:[\s\])|:"'\]]|$)|"#,
        r#"(?i:\blevel["']?\s*[=:]\s*["']?(?:info|debug|trace|notice|10\b|20\b|30\b))|^\s*(?:\[\S{1,40}\]\s)?(?i:info|debug|trace|verbose|notice|note|help|hint)\b|^\s*(?:✓|✔|√|ok\s|\(pass\)|---\sPASS|PASS\b)|\.\.\.\s?ok$"#,
    ))
    .ok()
});

/// Warnings, which rank below failures.
static WARNING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?-u)(?:^|[\s\[(|:])(?i:warn(?:ing)?|deprecated)(?:[\s\])|:!\[(]|$)").ok()
});

/// Lines of source code, as opposed to the output of a program.
static CODE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?-u)^\s*(?:[+\->|]\s*)?(?:\d+\s*(?:\||:|│)?\s)?\s*(?:throw\s|raise\s|return\s|if\s*\(|if\s.*:$|\}\s*catch|catch\s*\(|except\b.*:$|import\s|from\s\S+\simport|const\s|let\s|var\s|def\s|fn\s|func\s|class\s|export\s|public\s|private\s|#include|//|/\*|\*\s|assert\b.*\)$|console\.)|",
        r"[{;,]\s*$",
    ))
    .ok()
});

static COLOURS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?-u)\x1b\[[0-9;?]*[A-Za-z]|\x1b\].{0,200}?(?:\x07|\x1b\\)").ok()
});

fn finds(expression: &LazyLock<Option<Regex>>, line: &str) -> bool {
    expression.as_ref().is_some_and(|expression| expression.is_match(line.as_bytes()))
}

/// The position, from `from` on, of a word that failures have; `None` if there is none.
pub(super) fn next_hint(text: &str, from: usize) -> Option<usize> {
    STEMS.as_ref()?.find_at(text.as_bytes(), from).map(|found| found.start())
}

/// Whether any line of a text says that something failed.
pub(in crate::context) fn reports_failure(text: &str) -> bool {
    let mut from = 0;
    while let Some(at) = next_hint(text, from) {
        let line = lines::around(text, at);
        if weight(lines::content(text, &line)) >= REPORTING {
            return true;
        }
        from = line.end;
    }
    false
}

/// How likely a line names a failure.
pub(super) fn weight(line: &str) -> Weight {
    let line = line.get(..line.floor_char_boundary(MAX_LOOKED_AT)).unwrap_or_default();
    let line = plain(line);
    let line = line.trim_end();
    if line.is_empty() {
        return 0;
    }
    let cleared = match NONE_FAILED.as_ref() {
        Some(none) if none.is_match(line.as_bytes()) => {
            text_of(none.replace_all(line.as_bytes(), b" "))
        }
        _ => Cow::Borrowed(line),
    };
    let line = cleared.as_ref();
    let hints = finds(&STEMS, line);
    let names = hints && finds(&NAMES, line);
    let is_located = finds(&LOCATED, line);
    let mut weight = match () {
        () if names => NAMING + Weight::from(is_located),
        () if hints && finds(&TOTALS, line) => REPORTING,
        () if is_located => MENTIONING + 1,
        () if hints && finds(&WORDS, line) => MENTIONING,
        () => return 0,
    };
    if finds(&WARNING, line) {
        weight = weight.saturating_sub(3);
    } else if finds(&HARMLESS, line) {
        weight = weight.saturating_sub(4);
    }
    if finds(&CODE, line) {
        weight = weight.saturating_sub(4);
    }
    weight
}

/// A line without ANSI colours.
pub(super) fn plain(line: &str) -> Cow<'_, str> {
    match COLOURS.as_ref() {
        Some(colours) if line.contains('\x1b') => {
            text_of(colours.replace_all(line.as_bytes(), b""))
        }
        _ => Cow::Borrowed(line),
    }
}

/// Only whole escape sequences were removed, so the bytes are still UTF-8.
fn text_of(bytes: Cow<'_, [u8]>) -> Cow<'_, str> {
    match bytes {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}
