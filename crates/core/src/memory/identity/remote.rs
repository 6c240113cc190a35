//! Normalises the URLs of remotes, so that all spellings of a URL give the same identity.

use std::{
    borrow::Cow,
    net::Ipv6Addr,
    path::{Path, PathBuf},
};

use gix::{
    bstr::{BString, ByteSlice},
    url::{Scheme, Url},
};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode, percent_decode_str, percent_encode};
use storage::{Disk, LocalDisk};

/// The normal form of a remote's URL: `host[:port]/path`, or the path of a local remote.
///
/// Omitted are the protocol, its default port, user names and passwords, queries, fragments, trailing slashes
/// and `.git`. The host is in lower case, and the path is percent-encoded only where necessary. A local path
/// is canonical if it exists; relative ones are relative to `base`.
///
/// `None` for a URL that cannot be parsed: an empty text, a port that is not a number, and helpers (`ext::…`)
/// with an address that is no URL.
///
/// Text before an `@` may be a credential. It is always dropped, even if it is none
/// (`host:team@example/name`), because it may be one in an unusual place (`TOKEN@host/name`, without the
/// protocol).
pub(super) fn normal_form(url: &[u8], base: &Path) -> Option<BString> {
    let mut url = url.trim_ascii();
    let mut has_helper = false;
    while let Some((helper, address)) = helper_and_address(url) {
        if matches!(helper, b"ext" | b"fd") {
            return None;
        }
        (url, has_helper) = (address, true);
    }
    if url.is_empty() {
        None
    } else if let Some((protocol, rest)) = protocol_and_rest(url) {
        from_url(&parse(protocol, rest)?, base)
    } else if let Some(rest) = address_without_protocol(url, base) {
        from_url(&parse(b"ssh", &rest)?, base)
    } else if has_helper {
        None
    } else {
        Some(local(url, base))
    }
}

/// Splits `helper::address`, which git passes to the program `git-remote-helper`.
fn helper_and_address(url: &[u8]) -> Option<(&[u8], &[u8])> {
    let (helper, address) = url.split_once_str("::")?;
    is_protocol(helper).then_some((helper, address))
}

fn protocol_and_rest(url: &[u8]) -> Option<(&[u8], &[u8])> {
    let (protocol, rest) = url.split_once_str("://")?;
    is_protocol(protocol).then_some((protocol, rest))
}

fn is_protocol(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_alphanumeric)
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
}

/// Parses a URL. The protocol may be in capital letters and have the `git+` that some tools prepend. User
/// information is removed first, because the parser would end it at a `?` or `#` in the password.
fn parse(protocol: &[u8], rest: &[u8]) -> Option<Url> {
    let protocol = protocol.to_ascii_lowercase();
    let protocol = protocol.strip_prefix(b"git+").unwrap_or(&protocol);
    let (_user, rest) = rest.split_at(user_length(rest));
    let mut url = gix::url::parse([protocol, b"://", rest].concat().as_bstr()).ok()?;
    // The parser leaves out the slash before a `~` for SSH and Git, and then does not know the original spelling of the path.
    if url.path.starts_with(b"~") {
        url.path.insert(0, b'/');
    }
    Some(url)
}

/// Converts an address without a protocol that is no local path, such as `git@host:path`, to the part of a
/// URL after `ssh://`. The parser's own support for these addresses reads a password as a part of the path,
/// and does not know `[host:port]:path` and `user@[::1]:path`.
fn address_without_protocol(address: &[u8], base: &Path) -> Option<Vec<u8>> {
    /// Characters that such an address may contain and a URL's path must escape.
    const LITERAL: &AsciiSet = &CONTROLS.add(b' ').add(b'%');
    if is_drive_path(address) {
        return None;
    }
    let first = first_segment(address);
    let (user, place) = address.split_at(user_length(address));
    if !first.contains(&b':') && (user.is_empty() || exists(address, base)) {
        return None;
    }
    // In `[user@host:port]:path`, the bracket is before the user.
    let bracketed = place.strip_prefix(b"[").or_else(|| user.starts_with(b"[").then_some(place));
    let (host, path) = match bracketed.and_then(|bracketed| bracketed.split_once_str("]:")) {
        Some(host_and_path) => host_and_path,
        None => {
            let (host, path) = place.split_at(place.find_byteset(":/").unwrap_or(place.len()));
            (host, path.strip_prefix(b":").unwrap_or(path))
        }
    };
    let host = host.replace("%", "%25");
    let path = percent_encode(path.trim_start_with(|c| c == '/'), LITERAL).to_string();
    let slash: &[u8] = if path.is_empty() { b"" } else { b"/" };
    Some([&host, slash, path.as_bytes()].concat())
}

fn first_segment(address: &[u8]) -> &[u8] {
    address.split(|byte| *byte == b'/').next().unwrap_or_default()
}

/// The length of the user information with the `@`.
fn user_length(address: &[u8]) -> usize {
    first_segment(address).rfind_byte(b'@').map_or(0, |length| length + 1)
}

fn is_ip_v6(text: &[u8]) -> bool {
    text.to_str().is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok())
}

fn exists(path: &[u8], base: &Path) -> bool {
    gix::path::from_byte_slice(path).is_ok_and(|path| LocalDisk.canonical(&base.join(path)).is_ok())
}

fn from_url(url: &Url, base: &Path) -> Option<BString> {
    if url.scheme == Scheme::File
        && let Some(path) = path_of_file_url(url)
    {
        return Some(local(&path, base));
    }
    let mut form = normal_host(url.host.as_deref()?)?;
    if let Some(port) = url.port.filter(|port| Some(*port) != default_port(&url.scheme)) {
        form.push_str(&format!(":{port}"));
    }
    let path = normal_path(url.original_path());
    if !path.is_empty() {
        form.push('/');
        form.push_str(&path);
    }
    Some(form.into())
}

/// The path, if the URL is of a file on this machine.
fn path_of_file_url(url: &Url) -> Option<Cow<'_, [u8]>> {
    let path: Cow<[u8]> = percent_decode(&url.path).into();
    match url.host.as_deref() {
        None | Some("localhost") => match path.strip_prefix(b"/") {
            Some(drive) if is_drive_path(drive) => Some(drive.to_owned().into()),
            _ => Some(path),
        },
        // `file://C:/path`
        Some(host) => {
            let whole = [host.as_bytes(), &path].concat();
            is_drive_path(&whole).then_some(whole.into())
        }
    }
}

fn default_port(protocol: &Scheme) -> Option<u16> {
    protocol.default_port().or(match protocol.as_str() {
        "ftp" => Some(21),
        "ftps" => Some(990),
        _ => None,
    })
}

/// The normal form of a host; `None` if it cannot be a host's name.
fn normal_host(host: &str) -> Option<String> {
    let host = percent_decode_str(host).decode_utf8().ok()?.to_lowercase();
    let host = host.rsplit_once('@').map_or(&*host, |(_, host)| host);
    // For protocols other than HTTP, the parser keeps a query as a part of the host.
    let host = host.split(['/', '\\', '?', '#']).next().unwrap_or(host);
    let bare = host.trim_start_matches('[');
    let bare = bare.split(']').next().unwrap_or(bare);
    // A colon without a port may follow.
    for address in [bare, bare.strip_suffix(':').unwrap_or(bare)] {
        if let Ok(address) = address.parse::<Ipv6Addr>() {
            return Some(format!("[{address}]"));
        }
    }
    let name = bare.strip_suffix(':').unwrap_or(bare);
    let is_plain = |text: &str| {
        let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '%' | ':');
        !text.is_empty() && !text.contains(odd)
    };
    match name.split_once('%') {
        None => is_plain(name).then(|| name.to_owned()),
        Some((address, zone)) => (is_ip_v6(address.as_bytes()) && is_plain(zone))
            .then(|| format!("[{address}%25{zone}]")),
    }
}

/// A path without leading slashes, percent-encoding normalised.
fn normal_path(path: &[u8]) -> String {
    let (path, _query) = path.split_at(path.find_byteset("?#").unwrap_or(path.len()));
    let path = normal_escapes(path);
    let segments = path.split('/').map(|segment| match segment.rsplit_once('@') {
        Some((before, after)) if !before.is_empty() => after,
        _ => segment,
    });
    let path = segments.collect::<Vec<_>>().join("/");
    without_suffix(path.trim_start_matches('/').as_bytes()).to_str_lossy().into_owned()
}

/// Decodes unnecessary percent-encodings (RFC 3986, 6.2.2), encodes what must be, and writes the remaining
/// ones in capital digits. An `@` is never encoded, so that it can be recognised.
fn normal_escapes(mut path: &[u8]) -> String {
    let mut normal = String::with_capacity(path.len());
    while let Some((&first, after)) = path.split_first() {
        let escaped = match after {
            [high, low, ..] if first == b'%' => hexadecimal(*high, *low),
            _ => None,
        };
        let byte = escaped.unwrap_or(first);
        let is_plain = byte.is_ascii_alphanumeric()
            || b"-._~@".contains(&byte)
            || escaped.is_none() && b"/!$&'()*+,;=:".contains(&byte);
        if is_plain {
            normal.push(char::from(byte));
        } else {
            normal.push_str(&format!("%{byte:02X}"));
        }
        path = after.get(if escaped.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    normal
}

fn hexadecimal(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

/// The path without `.git` and trailing slashes.
fn without_suffix(mut path: &[u8]) -> &[u8] {
    loop {
        let shorter = path.strip_suffix(b"/").or_else(|| path.strip_suffix(b".git"));
        let Some(shorter) = shorter else { return path };
        path = shorter;
    }
}

/// `C:\path` and `C:/path` are paths on every system, not hosts.
fn is_drive_path(path: &[u8]) -> bool {
    matches!(path, [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
}

/// The canonical form of a local path, if it exists with or without `.git`, as git looks for it.
fn local(path: &[u8], base: &Path) -> BString {
    if is_drive_path(path) && !cfg!(windows) {
        return drive_form(path);
    }
    let Ok(path) = gix::path::from_byte_slice(path) else { return path.into() };
    let path: PathBuf = base.join(path).components().collect();
    let mut with_suffix = path.clone().into_os_string();
    with_suffix.push(".git");
    let canonical =
        LocalDisk.canonical(&path).or_else(|_| LocalDisk.canonical(Path::new(&with_suffix)));
    let path = canonical.unwrap_or_else(|_| {
        let normal = gix::path::normalize(Cow::Borrowed(&path), base).map(Cow::into_owned);
        normal.unwrap_or(path)
    });
    let bytes = path.as_os_str().as_encoded_bytes();
    if cfg!(windows) {
        let verbatim = bytes.strip_prefix(br"\\?\").unwrap_or(bytes);
        return drive_form(verbatim);
    }
    match without_suffix(bytes) {
        b"" => "/".into(),
        path => path.into(),
    }
}

/// A path with a drive: with slashes and a capital drive letter.
fn drive_form(path: &[u8]) -> BString {
    let mut path = path.replace(r"\", "/");
    if is_drive_path(&path)
        && let Some(letter) = path.first_mut()
    {
        letter.make_ascii_uppercase();
    }
    without_suffix(&path).into()
}
