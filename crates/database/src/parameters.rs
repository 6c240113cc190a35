//! Parameters of a statement with their types, so that the server need not be asked for them.

use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

/// The parameters of a statement, in order.
#[derive(Default)]
pub struct Parameters {
    values: Vec<(Box<dyn ToSql + Sync + Send>, Type)>,
    /// The bytes of the values.
    size: usize,
}

impl Parameters {
    /// No parameters.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn with(
        mut self,
        value: impl ToSql + Sync + Send + 'static,
        of_type: Type,
        size: usize,
    ) -> Self {
        self.values.push((Box::new(value), of_type));
        self.size += size;
        self
    }

    /// The bytes of the values, without those of the protocol.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Adds a text. It must not contain the character U+0000, which PostgreSQL's texts cannot hold.
    #[must_use]
    pub fn text(self, value: impl Into<String>) -> Self {
        let value = value.into();
        let size = value.len();
        self.with(value, Type::TEXT, size)
    }

    /// Adds a text, or null.
    #[must_use]
    pub fn optional_text(self, value: Option<String>) -> Self {
        let size = value.as_ref().map_or(0, String::len);
        self.with(value, Type::TEXT, size)
    }

    /// Adds a number.
    #[must_use]
    pub fn number(self, value: i64) -> Self {
        self.with(value, Type::INT8, size_of::<i64>())
    }

    /// Adds a number, or null.
    #[must_use]
    pub fn optional_number(self, value: Option<i64>) -> Self {
        self.with(value, Type::INT8, size_of::<i64>())
    }

    /// Adds a number with a fraction.
    #[must_use]
    pub fn float(self, value: f64) -> Self {
        self.with(value, Type::FLOAT8, size_of::<f64>())
    }

    /// Adds an array of numbers with fractions.
    #[must_use]
    pub fn floats(self, values: Vec<f64>) -> Self {
        let size = size_of_val(values.as_slice());
        self.with(values, Type::FLOAT8_ARRAY, size)
    }

    /// Adds an array of booleans.
    #[must_use]
    pub fn booleans(self, values: Vec<bool>) -> Self {
        let size = values.len();
        self.with(values, Type::BOOL_ARRAY, size)
    }

    /// Adds a boolean.
    #[must_use]
    pub fn boolean(self, value: bool) -> Self {
        self.with(value, Type::BOOL, 1)
    }

    /// Adds bytes.
    #[must_use]
    pub fn bytes(self, value: impl Into<Vec<u8>>) -> Self {
        let value = value.into();
        let size = value.len();
        self.with(value, Type::BYTEA, size)
    }

    /// Adds bytes, or null.
    #[must_use]
    pub fn optional_bytes(self, value: Option<Vec<u8>>) -> Self {
        let size = value.as_ref().map_or(0, Vec::len);
        self.with(value, Type::BYTEA, size)
    }

    /// Adds an id.
    #[must_use]
    pub fn id(self, value: Uuid) -> Self {
        self.with(value, Type::UUID, size_of::<Uuid>())
    }

    /// Adds an id, or null.
    #[must_use]
    pub fn optional_id(self, value: Option<Uuid>) -> Self {
        self.with(value, Type::UUID, size_of::<Uuid>())
    }

    /// Adds an array of texts, some of which may be null.
    #[must_use]
    pub fn texts(self, values: Vec<Option<String>>) -> Self {
        let size = values.iter().flatten().map(String::len).sum();
        self.with(values, Type::TEXT_ARRAY, size)
    }

    /// Adds an array of numbers, some of which may be null.
    #[must_use]
    pub fn numbers(self, values: Vec<Option<i64>>) -> Self {
        let size = values.len() * size_of::<i64>();
        self.with(values, Type::INT8_ARRAY, size)
    }

    /// Adds an array of bytes.
    #[must_use]
    pub fn byte_strings(self, values: Vec<Vec<u8>>) -> Self {
        let size = values.iter().map(Vec::len).sum();
        self.with(values, Type::BYTEA_ARRAY, size)
    }

    /// Adds an array of ids.
    #[must_use]
    pub fn ids(self, values: Vec<Uuid>) -> Self {
        let size = size_of_val(values.as_slice());
        self.with(values, Type::UUID_ARRAY, size)
    }

    pub(crate) fn typed(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        self.values
            .iter()
            .map(|(value, of_type)| (value.as_ref() as &(dyn ToSql + Sync), of_type.clone()))
            .collect()
    }
}
