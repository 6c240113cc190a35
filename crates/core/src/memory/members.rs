//! A raw JSON object: an ordered list of members with unparsed values, so that `document` can change some and
//! preserve the others.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, MapAccess, Visitor},
    ser::{SerializeMap, Serializer},
};
use serde_json::value::{RawValue, to_raw_value};

/// The members of an object. Members that are not changed keep their text.
#[derive(Debug, Clone, Default)]
pub(super) struct Members(Vec<(String, Box<RawValue>)>);

impl Members {
    /// The last member with a name, as in JavaScript.
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_ref())
    }

    /// The last member with a name, if it has this type.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.get(name).and_then(|value| serde_json::from_str(value.get()).ok())
    }

    /// Sets a member, at its present position if it exists.
    pub fn set(&mut self, name: &str, value: &impl Serialize) -> serde_json::Result<()> {
        let value = to_raw_value(value)?;
        match self.0.iter_mut().rev().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
        Ok(())
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_ref()))
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
