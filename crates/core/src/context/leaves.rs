//! Finds strings within a JSON result by their paths, in one scan. `save` uses it for strings that get placeholders of
//! their own.

use std::{collections::HashMap, ops::ControlFlow};

use json_text::Token;
use serde::Deserialize;

/// A key or an index in the path to a JSON value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(untagged)]
pub enum Step {
    /// Into an array.
    Index(u64),
    /// Into an object.
    Key(String),
}

/// A node in the tree of all paths; index 0 is the whole value.
#[derive(Default)]
struct Node {
    children: HashMap<Step, usize>,
    /// The paths that end at this node.
    ends: Vec<usize>,
}

/// An array or object that contains the current token.
struct Container {
    /// `None` if no path leads into it.
    node: Option<usize>,
    next: Next,
}

/// The key or index of the next value in a container.
enum Next {
    Index(u64),
    Key(Option<String>),
}

/// The string tokens at the ends of `paths`, in one scan of the JSON text. `None` for a path that does not end at a
/// string.
pub(super) fn strings_at<'a>(json: &'a [u8], paths: &[Vec<Step>]) -> Vec<Option<&'a [u8]>> {
    let mut found = vec![None; paths.len()];
    let tree = tree_of(paths);
    let mut around: Vec<Container> = Vec::new();
    // A syntax error only ends the search early.
    let _ = json_text::walk_value(json, 0, |token| {
        match token {
            Token::Key(key) => {
                if let Some(Container { node: Some(_), next: Next::Key(next) }) = around.last_mut()
                {
                    *next = json_text::decode_string(key).map(|key| key.into_owned());
                }
            }
            Token::ObjectEnd | Token::ArrayEnd => {
                around.pop();
            }
            Token::ObjectStart => {
                let node = enter(&tree, &mut around);
                around.push(Container { node, next: Next::Key(None) });
            }
            Token::ArrayStart => {
                let node = enter(&tree, &mut around);
                around.push(Container { node, next: Next::Index(0) });
            }
            Token::String(text) => {
                let node = enter(&tree, &mut around).and_then(|node| tree.get(node));
                for &end in node.map_or(&[][..], |node| &node.ends) {
                    if let Some(place) = found.get_mut(end) {
                        *place = Some(text);
                    }
                }
            }
            Token::Number(_) | Token::Literal(_) => {
                enter(&tree, &mut around);
            }
        }
        ControlFlow::Continue(())
    });
    found
}

fn tree_of(paths: &[Vec<Step>]) -> Vec<Node> {
    let mut tree = vec![Node::default()];
    for (index, path) in paths.iter().enumerate() {
        let mut at = 0;
        for step in path {
            let fresh = tree.len();
            let Some(node) = tree.get_mut(at) else { break };
            at = *node.children.entry(step.clone()).or_insert(fresh);
            if at == fresh {
                tree.push(Node::default());
            }
        }
        if let Some(node) = tree.get_mut(at) {
            node.ends.push(index);
        }
    }
    tree
}

/// The tree's node for the value that begins now.
fn enter(tree: &[Node], around: &mut [Container]) -> Option<usize> {
    let Some(container) = around.last_mut() else { return Some(0) };
    let node = container.node?;
    let step = match &mut container.next {
        Next::Index(index) => {
            let step = Step::Index(*index);
            *index += 1;
            step
        }
        Next::Key(key) => Step::Key(key.take()?),
    };
    tree.get(node)?.children.get(&step).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(key: &str) -> Step {
        Step::Key(key.to_owned())
    }

    fn at(json: &str, paths: &[Vec<Step>]) -> Vec<Option<String>> {
        let found = strings_at(json.as_bytes(), paths);
        found
            .iter()
            .map(|token| Some(String::from_utf8(token.as_ref()?.to_vec()).unwrap()))
            .collect()
    }

    #[test]
    fn strings_are_found_by_their_paths() {
        let json = r#"{"content":[{"type":"text","text":"a"},5,[],{"text":"b"}],"\u006bey":{"":"c"},"n":1}"#;
        let paths = [
            vec![key("content"), Step::Index(0), key("text")],
            vec![key("content"), Step::Index(3), key("text")],
            vec![key("key"), key("")],
            vec![key("n")],
            vec![key("content")],
            vec![key("content"), Step::Index(9)],
            vec![],
        ];
        let expected = [Some("\"a\""), Some("\"b\""), Some("\"c\""), None, None, None, None];
        assert_eq!(at(json, &paths), expected.map(|text| text.map(str::to_owned)));
        assert_eq!(at("\"whole\"", &[vec![]]), [Some("\"whole\"".to_owned())]);
    }

    #[test]
    fn an_index_is_no_key_and_a_key_no_index() {
        assert_eq!(
            at(r#"{"0":"a"}"#, &[vec![Step::Index(0)], vec![key("0")]]).concat_some(),
            "\"a\""
        );
        assert_eq!(at(r#"["a"]"#, &[vec![key("0")], vec![Step::Index(0)]]).concat_some(), "\"a\"");
    }

    trait ConcatSome {
        fn concat_some(&self) -> String;
    }

    impl ConcatSome for Vec<Option<String>> {
        /// The second one, if the first is absent.
        fn concat_some(&self) -> String {
            assert_eq!(self.first(), Some(&None));
            self.get(1).cloned().flatten().unwrap()
        }
    }

    fn any_value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(serde_json::Value::from),
            any::<i32>().prop_map(serde_json::Value::from),
            "[a-z\\\\\"é😀]{0,6}".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
                prop::collection::btree_map("[a-c\"]{0,2}", inner, 0..5)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn collect(value: &serde_json::Value, path: &[Step], out: &mut Vec<(Vec<Step>, String)>) {
        let below = |step: Step| [path, &[step]].concat();
        match value {
            serde_json::Value::String(text) => out.push((path.to_vec(), text.clone())),
            serde_json::Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    collect(item, &below(Step::Index(index as u64)), out);
                }
            }
            serde_json::Value::Object(members) => {
                for (name, member) in members {
                    collect(member, &below(key(name)), out);
                }
            }
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn every_string_of_a_value_is_found(value in any_value()) {
            let mut strings = Vec::new();
            collect(&value, &[], &mut strings);
            let paths: Vec<_> = strings.iter().map(|(path, _)| path.clone()).collect();
            let json = value.to_string();
            let found = strings_at(json.as_bytes(), &paths);
            for ((_, text), token) in strings.iter().zip(found) {
                let decoded = token.and_then(json_text::decode_string);
                prop_assert_eq!(decoded.as_deref(), Some(text.as_str()));
            }
        }

        #[test]
        fn any_bytes_are_walked(bytes in any::<Vec<u8>>()) {
            let _ = strings_at(&bytes, &[vec![Step::Index(0)]]);
        }
    }
}
