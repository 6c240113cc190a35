use super::*;

const BOUNDS: SnippetBounds = SnippetBounds { count: 3, length: 80 };

fn index(results: &[&str]) -> Index {
    let index = Index::new();
    for (sequence, result) in (0..).zip(results) {
        index.add(sequence, &Document { result, ..Document::default() });
    }
    index
}

fn search(query: &str, indexes: &[&Index]) -> TextSearch {
    TextSearch::new(&SearchSyntax::parse(query).unwrap(), BOUNDS, indexes)
}

fn of(result: &str) -> StoredTexts<'_> {
    StoredTexts { result: FieldText { raw: result, plain: result }, ..StoredTexts::default() }
}

fn is_hit(query: &str, text: &str) -> bool {
    search(query, &[&index(&[text])]).examine(&of(text), false, false).is_some()
}

#[test]
fn several_indexes_are_one_collection() {
    let texts = ["login form", "login page error", "other", "login error error"];
    let all = index(&texts);
    let first = index(&texts[..2]);
    let second = Index::new();
    for (sequence, result) in (2..).zip(&texts[2..]) {
        second.add(sequence, &Document { result, ..Document::default() });
    }
    let one = search("login error", &[&all]).rank(&[&all], None, &|_| true);
    let two = search("login error", &[&first, &second]).rank(&[&first, &second], None, &|_| true);
    assert_eq!(one, two);
    assert_eq!(one.len(), 3);
    assert!(one.iter().all(|(_, score)| (0.0..=1.0).contains(score)));
}

#[test]
fn the_terms_of_an_explanation_make_the_score() {
    let texts = ["login form", "login page error", "other", "login error error"];
    let (first, second) = (index(&texts[..2]), Index::new());
    for (sequence, result) in (2..).zip(&texts[2..]) {
        second.add(sequence, &Document { name: "form", result, ..Document::default() });
    }
    let indexes = [&first, &second];
    let wanted = search("login form error", &indexes);
    let ranked = wanted.rank(&indexes, None, &|_| true);
    let sequences: Vec<u64> = ranked.iter().map(|(sequence, _)| *sequence).collect();
    let explained = wanted.explain(&indexes, &sequences, &[]);
    assert_eq!(explained.len(), 4);
    for ((sequence, score), terms) in ranked.iter().zip(&explained) {
        let sum: f32 = terms.iter().map(|term| term.score).sum();
        assert!((wanted.share(sum, 0.0) - score).abs() < 1e-4, "{sequence}: {terms:?}");
    }
    let of = |wanted| {
        let place = sequences.iter().position(|sequence| *sequence == wanted).unwrap();
        explained[place].iter().map(|term| (&*term.term, term.fields)).collect::<Vec<_>>()
    };
    assert_eq!(of(2), [("form", [true, false, false, false])]);
    assert!(of(3).contains(&("error", [false, false, false, true])));
    let document = Document { description: "login", ..Document::default() };
    let of_unindexed = wanted.explain(&indexes, &[], &[document]).concat();
    assert_eq!(of_unindexed.len(), 1);
    assert_eq!(of_unindexed[0].fields, [false, true, false, false]);
    let stop_words = search("the", &indexes).explain(&indexes, &sequences, &[]);
    assert!(stop_words.concat().is_empty());
}

#[test]
fn conditions_hold() {
    assert!(is_hit("\"a login form\"", "this is A  LOGIN form"));
    assert!(!is_hit("\"a login form\"", "a form for login"));
    assert!(!is_hit("login -form", "LoginForm"));
    assert!(!is_hit("login -\"is a\"", "login is a"));
    assert!(!is_hit("login -fo*", "login forms"));
    assert!(is_hit("login -the", "login") && !is_hit("login -the", "the login"));
    assert!(is_hit("absent \"is a\"", "login is a"), "a phrase suffices");
    assert!(!is_hit("absent", "login"));
    assert!(is_hit("connecti*", "connections") && !is_hit("connecti*", "connected"));
    assert!(is_hit("to be or", "TO whom") && !is_hit("to be or", "login"));
    assert!(is_hit("東京*", "東京都") && !is_hit("login -東京", "東京 login"));
    assert!(is_hit("login -東京", "京東 login"));
}

#[test]
fn phrases_narrow_the_choice() {
    let index = index(&["login form", "form of login", "LoginForm here", "loginform", "other"]);
    let having = |query: &str| {
        let mut found: Vec<u64> =
            search(query, &[&index]).having_phrases(&[&index]).unwrap().into_iter().collect();
        found.sort_unstable();
        found
    };
    assert_eq!(having("\"login form\""), [0, 1, 2]);
    assert_eq!(having("\"LoginForm\""), [2, 3]);
    assert!(search("\"to be\"", &[&index]).having_phrases(&[&index]).is_none());
}

#[test]
fn the_best_places_of_a_long_text_are_shown() {
    let text = format!("{}\nerror: login failed\n{}", "error\n".repeat(5000), "x\n".repeat(5000));
    let index = index(&["error", "error", "error login"]);
    let mut search = search("login error", &[&index]);
    let examined = search.examine(&of(&text), false, false).unwrap();
    let best = &examined.snippets[0].1;
    assert!(best.text.contains("\nerror: login failed\n"), "{best:?}");
    assert_eq!(best.line, 1 + text[..best.byte_offset].matches('\n').count());
    assert_eq!(examined.share, 1.0);
}

#[test]
fn rare_words_are_noted() {
    let texts = vec!["login"; 30];
    let index = index(&texts);
    let mut common = search("login", &[&index]);
    assert!(!common.note_rare(20) && common.note_rare(31));
    let mut mixed = search("login needle", &[&index]);
    assert!(mixed.note_rare(20));
    assert!(mixed.examine(&of("login"), false, true).is_none());
    assert!(mixed.examine(&of("login needle"), false, true).is_some());
}

#[test]
fn candidates_rank_as_in_the_collection_of_which_they_are_a_part() {
    let texts = ["login form", "login page error", "other", "login error error", "form", "page"];
    let all = index(&texts);
    let candidates = Index::new();
    for sequence in [1, 3] {
        let result = texts[sequence];
        candidates.add(sequence as u64, &Document { result, ..Document::default() });
    }
    let whole = search("login error", &[&all]);
    let expected = whole.rank(&[&all], None, &|number| [1, 3].contains(&number));
    let mut part = search("login error", &[]);
    assert!(part.rank(&[&candidates], None, &|_| true).len() == 2);
    part.renew(&[&candidates], Some(whole.collection_of(&[&all])));
    assert_eq!(part.rank(&[&candidates], None, &|_| true), expected);
    part.renew(&[&candidates], None);
    assert_ne!(part.rank(&[&candidates], None, &|_| true), expected);
}

#[test]
fn prefixes_are_expanded_to_the_terms_of_new_indexes() {
    let new = index(&["logbook", "other"]);
    let mut wanted = search("logb*", &[]);
    assert!(wanted.rank(&[&new], None, &|_| true).is_empty());
    wanted.renew(&[&new], None);
    assert_eq!(wanted.rank(&[&new], None, &|_| true).len(), 1);
}

#[test]
fn similar_words_are_looked_for_in_a_vocabulary_as_well() {
    let empty = Index::new();
    let syntax = SearchSyntax::parse("kubrnetes login the").unwrap();
    let wanted = TextSearch::new(&syntax, BOUNDS, &[&empty]);
    let absent = wanted.absent(&syntax);
    assert!(absent.contains(&"login".into()));
    let lengths = TextSearch::lengths_of_similar(&absent).unwrap();
    assert!(lengths.contains(&"kubernet".len()) && lengths.contains(&60) && !lengths.contains(&2));
    assert!(wanted.similar(&absent, &[&empty], &[]).is_none());
    let found = wanted.similar(&absent, &[&empty], &["kubernet".to_owned(), "other".to_owned()]);
    let terms: Vec<Box<str>> = found.unwrap().wanted().into_iter().map(|term| term.text).collect();
    assert_eq!(terms, ["kubernet".into()]);
    assert!(TextSearch::lengths_of_similar(&["abc".into()]).is_none());
}
