use jsonpath_rust::JsonPath as _;
use proptest::{collection::vec, prelude::*};
use serde_json::{Value as Tree, json};

use super::*;

fn find(text: &str, query: &str) -> Vec<String> {
    let values = JsonPath::new(query).unwrap().find(text, &Cancelled::default()).unwrap();
    values.into_iter().map(|value| text[value.range()].to_owned()).collect()
}

fn normalised(text: &str, query: &str) -> Vec<String> {
    let values = JsonPath::new(query).unwrap().find(text, &Cancelled::default()).unwrap();
    paths(text, &values, usize::MAX).0
}

fn refusal(query: &str) -> String {
    let error = JsonPath::new(query).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
    error.message
}

#[test]
fn a_path_goes_on_within_a_string_that_holds_json() {
    let inner = json!({ "rows": [{ "id": 1 }, { "id": 2 }], "log": "a\nb" }).to_string();
    let deeper = json!({ "result": inner }).to_string();
    let text = json!({ "content": [{ "text": inner }, { "text": deeper }, { "text": "{no" }] })
        .to_string();
    let through = |query: &str| {
        let (place, values) =
            JsonPath::new(query).unwrap().find_through(&text, &Cancelled::default()).unwrap();
        let texts: Vec<_> =
            values.iter().map(|value| place.text[value.range()].to_owned()).collect();
        (texts, place.paths(&values, usize::MAX).0)
    };
    let (texts, paths) = through("$.content[0].text.rows[*].id");
    assert_eq!(texts, ["1", "2"]);
    assert_eq!(
        paths,
        ["$['content'][0]['text']['rows'][0]['id']", "$['content'][0]['text']['rows'][1]['id']"]
    );
    let (texts, paths) = through("$.content[1].text.result.log");
    assert_eq!(texts, ["\"a\\nb\""]);
    assert_eq!(paths, ["$['content'][1]['text']['result']['log']"]);
    for query in
        ["$.content[2].text.no", "$.content[0].text.none", "$.content[0].no.rows", "$..rows"]
    {
        assert_eq!(through(query).0, [""; 0], "{query}");
    }
    let (texts, paths) = through("$.content[0].text");
    assert_eq!((texts.len(), paths), (1, vec!["$['content'][0]['text']".to_owned()]));
}

/// The document of RFC 9535, section 1.5.
const STORE: &str = r#"{ "store": {
    "book": [
      { "category": "reference", "author": "Nigel Rees", "title": "Sayings of the Century", "price": 8.95 },
      { "category": "fiction", "author": "Evelyn Waugh", "title": "Sword of Honour", "price": 12.99 },
      { "category": "fiction", "author": "Herman Melville", "title": "Moby Dick", "isbn": "0-553-21311-3", "price": 8.99 },
      { "category": "fiction", "author": "J. R. R. Tolkien", "title": "The Lord of the Rings", "isbn": "0-395-19395-8", "price": 22.99 }
    ],
    "bicycle": { "color": "red", "price": 399 } } }"#;

#[test]
fn the_examples_of_the_rfc() {
    let book = |index: usize| format!("$['store']['book'][{index}]");
    let authors: Vec<_> = (0..4).map(|index| book(index) + "['author']").collect();
    let cases: [(&str, Vec<String>); 12] = [
        ("$.store.book[*].author", authors.clone()),
        ("$..author", authors),
        ("$.store.*", vec!["$['store']['book']".into(), "$['store']['bicycle']".into()]),
        ("$..book[2]", vec![book(2)]),
        ("$..book[2].author", vec![book(2) + "['author']"]),
        ("$..book[2].publisher", vec![]),
        ("$..book[-1]", vec![book(3)]),
        ("$..book[0,1]", vec![book(0), book(1)]),
        ("$..book[:2]", vec![book(0), book(1)]),
        ("$..book[?@.isbn]", vec![book(2), book(3)]),
        ("$..book[?@.price<10]", vec![book(0), book(2)]),
        ("$..book[::-2]", vec![book(3), book(1)]),
    ];
    for (query, expected) in cases {
        assert_eq!(normalised(STORE, query), expected, "{query}");
    }
    assert_eq!(find(STORE, "$..*").len(), 27);
    assert_eq!(find(STORE, "$.store..price"), ["8.95", "12.99", "8.99", "22.99", "399"]);
}

/// RFC 9535, section 2.3.5.3.
#[test]
fn filters_and_functions() {
    let text = r#"{"a":[3,5,1,2,4,6,{"b":"j"},{"b":"k"},{"b":{}},{"b":"kilo"}],"o":{"p":1,"q":2,"r":3,"s":5,"t":{"u":6}},"e":"f"}"#;
    let cases: [(&str, &[&str]); 22] = [
        ("$.a[?@.b == 'kilo']", &[r#"{"b":"kilo"}"#]),
        ("$.a[?(@.b == 'kilo')]", &[r#"{"b":"kilo"}"#]),
        ("$.a[?@>3.5]", &["5", "4", "6"]),
        ("$.a[?@.b]", &[r#"{"b":"j"}"#, r#"{"b":"k"}"#, r#"{"b":{}}"#, r#"{"b":"kilo"}"#]),
        ("$[?@[?@.b]]", &[r#"[3,5,1,2,4,6,{"b":"j"},{"b":"k"},{"b":{}},{"b":"kilo"}]"#]),
        ("$.o[?@<3, ?@<3]", &["1", "2", "1", "2"]),
        ("$.a[?@<2 || @.b == \"k\"]", &["1", r#"{"b":"k"}"#]),
        ("$.a[?match(@.b, \"[jk]\")]", &[r#"{"b":"j"}"#, r#"{"b":"k"}"#]),
        ("$.a[?search(@.b, \"[jk]\")]", &[r#"{"b":"j"}"#, r#"{"b":"k"}"#, r#"{"b":"kilo"}"#]),
        ("$.a[?!search(@.b, 'k') && @.b]", &[r#"{"b":"j"}"#, r#"{"b":{}}"#]),
        ("$.o[?@>1 && @<4]", &["2", "3"]),
        ("$.o[?@.u || @.x]", &[r#"{"u":6}"#]),
        ("$.a[?@.b == $.x]", &["3", "5", "1", "2", "4", "6"]),
        ("$.a[?@ == @ && @ != 3 && !@.b]", &["5", "1", "2", "4", "6"]),
        ("$[?length(@) == 10].length", &[]),
        ("$[?length(@) > 5][0]", &["3"]),
        ("$[?length(@) == 1]", &["\"f\""]),
        ("$[?count(@.*) == 5].p", &["1"]),
        ("$[?value(@..u) == 6].q", &["2"]),
        ("$.a[?@ >= 5]", &["5", "6"]),
        ("$.a[?@.b <= 'k']", &[r#"{"b":"j"}"#, r#"{"b":"k"}"#]),
        ("$.a[?match(@.b, '(')]", &[]),
    ];
    for (query, expected) in cases {
        assert_eq!(find(text, query), expected, "{query}");
    }
}

#[test]
fn values_are_compared_by_what_they_mean() {
    let pairs = [
        ("1", "1.0", true),
        ("1e2", "100", true),
        ("9007199254740993", "9007199254740992", false),
        ("-0", "0", true),
        (r#""é""#, r#""\u00e9""#, true),
        (r#"{"a":[1.0,"\u0061"],"b":null}"#, r#"{"b":null, "a":[1,"a"]}"#, true),
        (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false),
        ("[1,2]", "[2,1]", false),
        ("[[1],2]", "[[1,2]]", false),
        ("null", "false", false),
    ];
    for (left, right, is_equal) in pairs {
        let text = format!(r#"[{{"l":{left},"r":{right}}}]"#);
        assert_eq!(find(&text, "$[?@.l == @.r]").len(), usize::from(is_equal), "{text}");
        assert_eq!(find(&text, "$[?@.l != @.r]").len(), usize::from(!is_equal), "{text}");
        assert_eq!(
            find(&text, "$[?@.l <= @.r && @.l >= @.r]").len(),
            usize::from(is_equal),
            "{text}"
        );
    }
}

#[test]
fn text_survives_exactly_and_names_are_normalised() {
    let text =
        r#" {"\u0061" : [1.50E+01 , "\ud800"], "it's\\\n\u000b\"é": {"b":1}, "dup":1, "dup":2 } "#;
    assert_eq!(find(text, "$.a[0]"), ["1.50E+01"]);
    assert_eq!(find(text, "$['a'][1]"), [r#""\ud800""#]);
    assert_eq!(find(text, "$.dup"), ["2"], "as JSON.parse");
    assert_eq!(normalised(text, "$..b"), [r#"$['it\'s\\\n\u000b"é']['b']"#]);
    assert_eq!(find(text, &normalised(text, "$..b")[0]), ["1"]);
    assert_eq!(find(text, "$")[0], text.trim());
}

#[test]
fn a_bad_query_is_told_with_its_place() {
    assert!(refusal("$.a[").ends_with("not '$.a[': this cannot stand here, at character 5"));
    assert!(refusal("$.é.").ends_with("at character 5"));
    for query in [
        "",
        "a",
        "$.",
        "$..",
        "$[01]",
        "$['a",
        "$.a ",
        "$[?@.a==1",
        "$[9007199254740992]",
        "$[?foo(@)]",
    ] {
        refusal(query);
    }
    for (query, expected) in [
        ("$[?length(@.*) < 3]", "length takes a query for one value"),
        ("$[?length(@.a)]", "length gives a value, which has to be compared"),
        ("$[?count(1) == 1]", "expected a node, got a literal"),
        ("$[?count(length(@.a)) == 1]", "count takes a query"),
        ("$[?value('a') == 1]", "value takes a query"),
        ("$[?match(@.a, 'x') == true]", "is not comparable"),
        ("$[?match(@..a, 'x')]", "match takes a query for one value"),
        ("$[?in(@.a, $.b)]", "in is no function of RFC 9535"),
    ] {
        let message = refusal(query);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn hostile_queries_end() {
    let nested = |open: &str, inside: &str, close: &str, depth: usize| {
        format!("$[?{}{inside}{} == 1]", open.repeat(depth), close.repeat(depth))
    };
    for query in [
        nested("length(", "#", ")", 100),
        nested("length(", "@.a", ")", 1000),
        nested("(", "#", ")", 100_000),
        nested("@[?", "#", "]", 10_000),
        format!("${}", "..*".repeat(101)),
        format!("$[?@.a{}]", "||@.a".repeat(1_000_000)),
    ] {
        refusal(&query);
    }
    // Each step multiplies the number of values.
    let text = format!("{}{}", "[".repeat(60), "]".repeat(60));
    let query = JsonPath::new(&format!("${}", "..*".repeat(30))).unwrap();
    let error =
        find_within(&query.0.segments, &text, 10_000_000, &Cancelled::default()).unwrap_err();
    assert!(error.message.contains("narrow it"), "{}", error.message);
    let text = json!(vec!["a".repeat(1000); 1000]).to_string();
    assert!(find(&text, "$[?search(@, '((a{0,100}){0,100}){0,100}b')]").is_empty());
}

#[test]
fn depth_needs_no_stack() {
    let nested = |depth: usize| "[".repeat(depth) + "7" + &"]".repeat(depth);
    let text = nested(10_000);
    assert_eq!(find(&text, "$[0]"), [&text[1..text.len() - 1]]);
    assert_eq!(find(&text, "$[?@ == $[0]]").len(), 1, "deep values are compared");
    // Paths to deep values take quadratic time in the depth.
    let depth = 2000;
    let text = nested(depth);
    let path = format!("${}", "[0]".repeat(depth));
    let values = JsonPath::new(&path).unwrap().find(&text, &Cancelled::default()).unwrap();
    assert_eq!(values, [Value { start: depth, end: depth + 1 }]);
    assert_eq!(paths(&text, &values, usize::MAX), (vec![path], true));
    assert_eq!(find(&nested(500), "$..[?@ == 7]"), ["7"]);
    let far = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    let every = JsonPath::new("$..[0]").unwrap();
    let error =
        find_within(&every.0.segments, &far, 20_000_000, &Cancelled::default()).unwrap_err();
    assert!(error.message.contains("looks at too much"), "{}", error.message);
}

fn tree() -> impl Strategy<Value = Tree> {
    let scalar = prop_oneof![
        (-2_i64..4).prop_map(Tree::from),
        "[ab']{0,2}".prop_map(Tree::from),
        Just(Tree::Null),
        any::<bool>().prop_map(Tree::from),
    ];
    scalar.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Tree::from),
            vec(("[abé]", inner), 0..5)
                .prop_map(|members| Tree::from(serde_json::Map::from_iter(members))),
        ]
    })
}

fn query() -> impl Strategy<Value = String> {
    let selector = "'[abé]'|[0-3]|-[1-3]|\\*|[0-2]:[1-4]|:-1|::-1|3:0:-2|::0";
    let condition = prop_oneof![
        "@\\.[ab]|@\\[[0-2]\\]|!@\\.[ab]|@\\.\\*|@\\.\\.[ab]|\\$\\[0\\]",
        "(@|@\\.[ab]|@\\[0\\]|\\$\\.a) (==|!=|<|>|<=|>=) ([0-2]|'[ab]'|null|true|@\\.[ab]|\\$\\[1\\])",
    ];
    let filter = (condition.clone(), "( && | \\|\\| )", condition, any::<bool>()).prop_map(
        |(one, and, other, both)| {
            if both { format!("?{one}{and}{other}") } else { format!("?{one}") }
        },
    );
    let segment = prop_oneof![
        4 => "\\.[ab]|\\.\\*|\\.\\.[ab]|\\.\\.\\*".boxed(),
        3 => vec(selector, 1..3).prop_map(|selectors| format!("[{}]", selectors.join(","))).boxed(),
        1 => selector.prop_map(|selector| format!("..[{selector}]")).boxed(),
        2 => filter.prop_map(|filter| format!("[{filter}]")).boxed(),
    ];
    vec(segment, 0..4).prop_map(|segments| format!("${}", segments.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn finds_what_the_crate_finds_in_a_tree(tree in tree(), query in query(), is_pretty in any::<bool>()) {
        let text = if is_pretty { serde_json::to_string_pretty(&tree).unwrap() } else { tree.to_string() };
        let mut expected = tree.query_only_path(&query).unwrap();
        let mut found = normalised(&text, &query);
        // The crate's order is by selector, the RFC's by value.
        expected.sort();
        found.sort();
        prop_assert_eq!(found, expected, "{} in {}", query, text);
    }

    #[test]
    fn a_normalised_path_leads_to_its_value(tree in tree()) {
        let text = tree.to_string();
        let values = JsonPath::new("$..*").unwrap().find(&text, &Cancelled::default()).unwrap();
        for (value, path) in values.iter().zip(paths(&text, &values, usize::MAX).0) {
            prop_assert_eq!(JsonPath::new(&path).unwrap().find(&text, &Cancelled::default()).unwrap(), vec![*value]);
        }
    }

    #[test]
    fn any_query_is_read_or_refused(query in r"\$[$@.*?\[\]()'a0-9=<&|!: ,-]{0,20}") {
        if let Ok(path) = JsonPath::new(&query) {
            let _ = path.find(STORE, &Cancelled::default());
        }
    }
}
