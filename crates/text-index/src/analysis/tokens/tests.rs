use proptest::prelude::*;

use super::*;

fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    tokenize(text, usize::MAX, |token| tokens.push(token.to_owned()));
    tokens
}

#[test]
fn identifiers_are_indexed_whole_and_in_pieces() {
    assert_eq!(tokens("LoginForm"), ["login", "form", "loginform"]);
    assert_eq!(tokens("read_file"), ["read", "file", "readfil"]);
    assert_eq!(tokens("x-request-id"), ["x", "request", "id", "xrequestid"]);
    assert_eq!(tokens("HTTPServer"), ["http", "server", "httpserver"]);
    assert_eq!(tokens("listURLs"), ["list", "url", "listurl"]);
    assert_eq!(tokens("__init__"), ["init"]);
    assert_eq!(
        tokens("feature-LoginForm"),
        ["featur", "login", "form", "loginform", "featureloginform"]
    );
}

#[test]
fn styles_of_one_identifier_agree() {
    for other in ["login_form", "login-form", "LoginForm", "LOGIN_FORM"] {
        assert_eq!(tokens(other), tokens("loginForm"), "{other}");
    }
}

#[test]
fn paths_are_split() {
    assert_eq!(
        tokens("/src/auth/LoginForm.tsx"),
        ["src", "auth", "login", "form", "loginform", "tsx"]
    );
    assert_eq!(tokens(r"C:\Users\me.txt"), ["c", "user", "txt"]);
    assert_eq!(tokens("https://example.com/a?b=c#d"), ["https", "exampl", "com", "b", "c", "d"]);
}

#[test]
fn digits_are_split_from_letters() {
    assert_eq!(tokens("HAT084"), ["hat", "084", "hat084"]);
    assert_eq!(tokens("sha256"), ["sha", "256", "sha256"]);
    assert_eq!(tokens("9f86d081884c7d65"), ["9f86d081884c7d65"]);
}

#[test]
fn dates_are_found_as_they_are_written_in_prose() {
    assert_eq!(tokens("2024-10-27"), ["2024", "10", "27", "20241027", "octob"]);
    assert_eq!(tokens("2024-05-07,"), ["2024", "05", "07", "20240507", "may", "7"]);
    assert_eq!(tokens("2024-10-27T16:04Z")[5..], ["16", "04", "z", "04z"]);
    assert_eq!(tokens("2024-10-27-backup")[5..], ["backup"]);
    assert_eq!(tokens("on May 7, you may go"), ["may", "7", "go"]);
    assert_eq!(tokens("the 3rd of Oct")[3..], ["octob", "oct"]);
}

#[test]
fn words_are_stemmed_and_stop_words_dropped() {
    assert_eq!(tokens("Please show me the running tests"), ["run", "test"]);
    assert_eq!(tokens("the user's files don't open"), ["user", "file", "open"]);
    assert_eq!(tokens("the user’s files can’t open"), ["user", "file", "open"]);
    assert_eq!(tokens("O'Brien"), ["o", "brien"]);
    assert_eq!(tokens("children went"), tokens("child goes"));
    assert_eq!(tokens("slow--really slow"), ["slow", "slow"]);
}

#[test]
fn accents_and_case_are_folded() {
    assert_eq!(tokens("Café Zürich"), tokens("cafe zurich"));
    assert_eq!(tokens("Привет МИР"), ["привет", "мир"]);
    assert_eq!(tokens("ＬｏｇｉｎＦｏｒｍ"), tokens("LoginForm"));
}

#[test]
fn unsegmented_text_gives_characters_and_pairs() {
    assert_eq!(tokens("東京都"), ["東", "東京", "京", "京都", "都"]);
    assert_eq!(
        tokens("東京。大阪 Tower東"),
        ["東", "東京", "京", "大", "大阪", "阪", "tower", "東"]
    );
    assert_eq!(tokens("한국"), ["한", "한국", "국"]);
}

#[test]
fn other_scripts_stay_words() {
    assert_eq!(tokens("हिन्दी भाषा"), ["हिन्दी", "भाषा"]);
}

#[test]
fn input_is_bounded() {
    let long = "é".repeat(100);
    assert_eq!(tokens(&long), ["e".repeat(64)]);
    assert_eq!(tokens(&"я".repeat(100)), ["я".repeat(32)]);
    let mut read = Vec::new();
    tokenize("alpha beta gamma", 8, |token| read.push(token.to_owned()));
    assert_eq!(read, ["alpha"], "`be` is a stop word");
    tokenize("日本", 4, |token| assert_eq!(token, "日"));
}

#[test]
fn emit_may_tokenise() {
    tokenize("outer", 100, |token| assert_eq!(tokens("outer"), [token]));
}

proptest! {
    #[test]
    fn ascii_is_split_as_other_characters_are(part in "[a-zA-Z0-9s]{1,20}") {
        let (mut ascii, mut other) = (Identifier::default(), Identifier::default());
        prop_assert_eq!(ascii.read_ascii(&part), other.read_characters(&part));
        prop_assert_eq!((ascii.whole, ascii.pieces), (other.whole, other.pieces));
    }

    #[test]
    fn any_text_is_read(text in any::<String>(), maximum_bytes in 0_usize..200) {
        tokenize(&text, maximum_bytes, |token| {
            assert!(!token.is_empty() && token.len() <= MAXIMUM_TOKEN_BYTES);
        });
    }

    #[test]
    fn any_mixture_is_read(text in "[a-zA-Z0-9_'\\-./ é’東京が\u{301}\u{3099}กИß\u{200B}Ǆİ]{0,200}") {
        tokenize(&text, usize::MAX, |token| {
            assert!(!token.is_empty() && token.len() <= MAXIMUM_TOKEN_BYTES);
            assert!(!token.contains(char::is_whitespace));
        });
    }
}
