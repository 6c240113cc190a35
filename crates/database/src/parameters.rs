//! Parameters of a statement with their types, so that the server need not be asked for them.

use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

/// The parameters of a statement, in order.
#[derive(Default)]
pub struct Parameters(Vec<(Box<dyn ToSql + Sync + Send>, Type)>);

impl Parameters {
    /// No parameters.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn with(mut self, value: impl ToSql + Sync + Send + 'static, of_type: Type) -> Self {
        self.0.push((Box::new(value), of_type));
        self
    }

    /// Adds a text. It must not contain the character U+0000, which PostgreSQL's texts cannot hold.
    #[must_use]
    pub fn text(self, value: impl Into<String>) -> Self {
        self.with(value.into(), Type::TEXT)
    }

    /// Adds a text, or null.
    #[must_use]
    pub fn optional_text(self, value: Option<String>) -> Self {
        self.with(value, Type::TEXT)
    }

    /// Adds a number.
    #[must_use]
    pub fn number(self, value: i64) -> Self {
        self.with(value, Type::INT8)
    }

    /// Adds a number, or null.
    #[must_use]
    pub fn optional_number(self, value: Option<i64>) -> Self {
        self.with(value, Type::INT8)
    }

    /// Adds a boolean.
    #[must_use]
    pub fn boolean(self, value: bool) -> Self {
        self.with(value, Type::BOOL)
    }

    /// Adds bytes.
    #[must_use]
    pub fn bytes(self, value: impl Into<Vec<u8>>) -> Self {
        self.with(value.into(), Type::BYTEA)
    }

    /// Adds bytes, or null.
    #[must_use]
    pub fn optional_bytes(self, value: Option<Vec<u8>>) -> Self {
        self.with(value, Type::BYTEA)
    }

    /// Adds an id.
    #[must_use]
    pub fn id(self, value: Uuid) -> Self {
        self.with(value, Type::UUID)
    }

    /// Adds an id, or null.
    #[must_use]
    pub fn optional_id(self, value: Option<Uuid>) -> Self {
        self.with(value, Type::UUID)
    }

    /// Adds an array of texts, some of which may be null.
    #[must_use]
    pub fn texts(self, values: Vec<Option<String>>) -> Self {
        self.with(values, Type::TEXT_ARRAY)
    }

    /// Adds an array of numbers, some of which may be null.
    #[must_use]
    pub fn numbers(self, values: Vec<Option<i64>>) -> Self {
        self.with(values, Type::INT8_ARRAY)
    }

    /// Adds an array of bytes.
    #[must_use]
    pub fn byte_strings(self, values: Vec<Vec<u8>>) -> Self {
        self.with(values, Type::BYTEA_ARRAY)
    }

    /// Adds an array of ids.
    #[must_use]
    pub fn ids(self, values: Vec<Uuid>) -> Self {
        self.with(values, Type::UUID_ARRAY)
    }

    pub(crate) fn typed(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        self.0
            .iter()
            .map(|(value, of_type)| (value.as_ref() as &(dyn ToSql + Sync), of_type.clone()))
            .collect()
    }
}
